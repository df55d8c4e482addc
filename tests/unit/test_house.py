"""The rules of the house that no linter knows: exact exports, an import that drags nothing in, files fit for anyone."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import lamina

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "lamina"
PACKAGES = sorted(
    ".".join(("lamina", *path.parent.relative_to(SRC).parts)) for path in SRC.rglob("__init__.py") if path.parent != SRC
)
# What the extras bring, by the names that it is imported by.
EXTRAS = frozenset(
    {
        *("anthropic", "httpx", "httpx2", "jsonschema", "mcp", "openai", "opentelemetry", "pydantic", "pydantic_ai"),
        *("rich", "starlette", "uvicorn", "xllamacpp", "asyncpg", "a2a", "trio", "pytest", "hypothesis", "re2"),
    }
)


def submodules(package: ModuleType) -> set[str]:
    return {found.name for found in pkgutil.iter_modules(package.__path__)}


LAZY = "lamina._lazy"
"""What a package imports to import less."""


@pytest.mark.parametrize("name", ["lamina", *PACKAGES])
def test_all_is_exact(name: str) -> None:
    package = importlib.import_module(name)
    source = Path(str(package.__file__)).read_text("utf-8")
    imported = {
        alias.asname or alias.name
        for node in ast.parse(source).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lamina") and node.module != LAZY
        for alias in node.names
    }
    public = {one for one in imported if not one.startswith("_")}
    listed = list(getattr(package, "__all__", []))

    assert sorted(set(listed)) == sorted(listed), "a name stands twice in __all__"
    assert set(listed) >= public, f"imported and not in __all__: {sorted(public - set(listed))}"
    assert [one for one in listed if not hasattr(package, one)] == []
    assert [one for one in listed if one.startswith("_")] == []


@pytest.mark.parametrize("name", ["lamina", *PACKAGES])
def test_no_public_name_is_a_module_name(name: str) -> None:
    package = importlib.import_module(name)
    # The demo is an application: what it calls its own is nobody's folder.
    taken = submodules(package) | (set() if name.startswith("lamina.demo.") else submodules(lamina))

    assert sorted(set(getattr(package, "__all__", [])) & taken) == []


@pytest.mark.parametrize("name", ["lamina", *PACKAGES])
def test_what_is_public_is_documented(name: str) -> None:
    package = importlib.import_module(name)
    exported = {one: getattr(package, one) for one in getattr(package, "__all__", [])}
    documented = {one: value for one, value in exported.items() if inspect.isclass(value) or inspect.isroutine(value)}

    assert (package.__doc__ or "").strip()
    assert [one for one, value in documented.items() if not (value.__doc__ or "").strip()] == []


# These may stand on an extra; everything else must import without one.
STAND_ON_EXTRAS = ("lamina.cli", "lamina.providers", "lamina.adapters", "lamina.demo")


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["lamina"], id="lamina"),
        pytest.param([name for name in PACKAGES if not name.startswith(STAND_ON_EXTRAS)], id="packages"),
    ],
)
def test_importing_drags_no_extra_in(names: list[str]) -> None:
    program = f"import sys, json, {', '.join(names)}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = {module.partition(".")[0] for module in json.loads(done.stdout)}

    assert "lamina" in loaded
    assert sorted(loaded & EXTRAS) == []


def test_each_extra_is_known_here() -> None:
    """A new extra is added to the names that importing must not load."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    required = [one for extra in project["optional-dependencies"].values() for one in extra]
    names = {re.split(r"[\[<>=~!; ]", one)[0].lower().replace("-", "_") for one in required}
    core = {re.split(r"[\[<>=~!; ]", one)[0].lower().replace("-", "_") for one in project["dependencies"]}

    assert sorted(names - core - EXTRAS - {"lamina", "google_re2", "opentelemetry_api", "pydantic_ai_slim"}) == []


def repository_files() -> list[Path]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive has no history to ask
        found = [path for path in ROOT.rglob("*") if not any(part.startswith(".") for part in path.parts)]
    else:
        found = [ROOT / name for name in done.stdout.decode().split("\0") if name]
    return [path for path in found if path.is_file()]


def test_no_file_names_a_machine_or_a_registry() -> None:
    home = str(Path.home())
    # Written in pieces, so that this file does not hold what it looks for.
    registries = ["py" + "pi.org", "pythonhost" + "ed.org", "npm" + "js.org", "npm" + "js.com", "deb" + ".debian.org"]
    places = [f"{ROOT}/", *([f"{home}/"] if len(home) > 1 else [])]
    people = re.compile(r"(?<![\w.])/(?:home|Users)/[a-z][\w-]*/|(?<![\w.])/ro" + r"ot/")
    wrong: list[str] = []
    for path in repository_files():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            found = [one for one in (*registries, *places) if one in line]
            if found or people.search(line):
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}")

    assert wrong == []
