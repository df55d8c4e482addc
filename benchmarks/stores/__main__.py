"""What keeping costs: appends, runs in conversations, opening a long one, and other frameworks' stores.

    python benchmarks stores [--only appends,runs,opening,savers] [--rounds 3] [--seconds 3] [--folder PLACE]

Every figure that has a bound is a ratio, or a difference, of two that were measured in turns inside one round; the
median over the rounds is shown. CPU time counts all threads of the process. The folder has to be on a disk: on tmpfs a
commit costs nothing, and there is nothing to measure.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# What the rivals' scenarios are made of is used here, too; and the tests' PostgreSQL.
sys.path[1:1] = [str(HERE.parent / "rivals"), str(HERE.parents[1])]
SECTIONS = ("appends", "runs", "opening", "savers")


def _sections(text: str) -> list[str]:
    chosen = [one for one in text.split(",") if one]
    if unknown := sorted(set(chosen) - set(SECTIONS)):
        raise argparse.ArgumentTypeError(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench -- stores", description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=_sections, default=list(SECTIONS), help=f"sections, as {','.join(SECTIONS)}")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each way to append is measured in a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="a folder on a disk; by default one beside this file")
    parser.add_argument("--flush", type=float, default=2.0, help="milliseconds that a flush takes, at least (appends)")
    options = parser.parse_args()
    verdicts = []
    with tempfile.TemporaryDirectory(dir=options.folder or HERE, prefix="stores-") as name:
        folder = Path(name)
        if "appends" in options.only:
            from appends import measure_appends

            verdicts += measure_appends(folder, options.seconds, options.rounds, options.flush)
        if "runs" in options.only:
            from runs import measure_runs

            verdicts += measure_runs(folder, options.rounds)
        if "opening" in options.only:
            from opening import measure_opening

            verdicts += measure_opening(folder, options.rounds)
        if "savers" in options.only:
            from savers import measure_savers

            measure_savers(folder, options.rounds)
    if verdicts:
        print("\nlamina against its bounds")
        print("\n".join(f"  {each}" for each in verdicts))
    print(f"\n{os.cpu_count()} cores, {options.rounds} rounds; trust the ratios, for the machine's own speed changes.")
    sys.exit(0 if all(each.met for each in verdicts) else 1)


if __name__ == "__main__":
    main()
