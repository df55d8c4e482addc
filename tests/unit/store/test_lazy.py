"""An application without a store does not pay for one: what keeps records is imported when it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import lamina.conversation
import lamina.store

HEAVY = "{'sqlite3', 'asyncpg', 'lamina.store.sqlite', 'lamina.store.memory', 'lamina.conversation.stored'}"


@pytest.mark.parametrize(
    "line", ["from lamina import Agent, build, tool", "import lamina.conversation", "import lamina.store"]
)
def test_no_store_is_imported_by(line: str) -> None:
    code = f"import sys\n{line}\nprint(sorted({HEAVY} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("module", [lamina.store, lamina.conversation])
def test_every_public_name_is_there_and_no_other(module: object) -> None:
    names: list[str] = module.__all__  # type: ignore[attr-defined]
    assert all(getattr(module, name) is not None for name in names)
    assert dir(module) == sorted(names)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = module.nothing  # type: ignore[attr-defined]
