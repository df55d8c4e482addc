"""Run a benchmark: `python benchmarks [contracts | layers | local | mcp | rivals | stores] [OPTIONS]`; else rivals."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = {
    "contracts": HERE / "contracts.py",
    "layers": HERE / "layers.py",
    "local": HERE / "local_model.py",
    "mcp": HERE / "mcp_adapter.py",
    "rivals": HERE / "rivals" / "__main__.py",
    "stores": HERE / "stores" / "__main__.py",
}


def main() -> None:
    arguments = sys.argv[1:]
    named = bool(arguments) and not arguments[0].startswith("-")
    name = arguments.pop(0) if named else "rivals"
    program = PROGRAMS.get(name)
    if program is None:
        sys.exit(f"benchmarks: there is no {name!r}; there are: {', '.join(PROGRAMS)}")
    if not program.exists():
        sys.exit(f"benchmarks: {program.relative_to(HERE.parent)} is not there")
    sys.argv = [str(program), *arguments]
    sys.path[0] = str(program.parent)
    runpy.run_path(str(program), run_name="__main__")


if __name__ == "__main__":
    main()
