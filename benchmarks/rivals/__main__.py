"""Measure lamina, two hand-written floors and other agent frameworks, and print what they cost beside each other.

Every measurement has a process of its own, and the adapters take turns inside each round, so that other load on the
machine meets all of them alike. The CPU time counts; a ratio is taken inside its round, and the median over rounds is
shown.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from table import show

HERE = Path(__file__).resolve().parent
ADAPTERS = HERE / "adapters"
FLOORS = ("floor", "floor_pydantic")
OURS = (*FLOORS, "lamina", "lamina_names")
SCENARIOS = ("a", "b", "c", "d", "e", "g")
RUNS = {"a": 300, "b": 60, "c": 8}
# The floors are so quick that their median needs more runs.
FLOOR_FACTOR = 10
# Scenario g: runs of c by their number of turns.
GROWTH = {10: 10, 50: 5, 200: 2}
GROWTH_ROUNDS = 5
TIMEOUT = 900.0


def present() -> list[str]:
    names = sorted(path.stem for path in ADAPTERS.glob("*.py") if not path.stem.startswith("_"))
    return [*(name for name in OURS if name in names), *(name for name in names if name not in OURS)]


def import_statements(adapter: str) -> str:
    for node in ast.parse((ADAPTERS / f"{adapter}.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "IMPORT":
            return str(ast.literal_eval(node.value))
    sys.exit(f"rivals: {adapter} has no IMPORT")


def runs_at_all(adapter: str) -> bool:
    body = ast.parse((ADAPTERS / f"{adapter}.py").read_text("utf-8")).body
    return any(isinstance(node, ast.FunctionDef) and node.name == "build" for node in body)


def work(*arguments: object, **extra: str) -> dict[str, Any] | None:
    # What is installed in place is compiled when first imported, the rest by pip: each must keep what it compiled.
    env = {**os.environ, **extra}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, str(HERE / "worker.py"), *map(str, arguments)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        print(f"rivals: {arguments[0]} {arguments[1]} took more than {TIMEOUT:.0f} s", file=sys.stderr, flush=True)
        return None
    if done.returncode:
        print(f"rivals: {arguments[0]} {arguments[1]} failed:\n{done.stderr[-800:]}", file=sys.stderr, flush=True)
        return None
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measure(adapter: str, scenario: str, crowd: int) -> Any:
    match scenario:
        case "d":
            return work(adapter, "d", crowd)
        case "e":
            return work(adapter, "e", import_statements(adapter))
        case "g":
            return {
                turns: (work(adapter, "c", count, BENCH_TURNS=str(turns)) or {}).get("cpu_us")
                for turns, count in GROWTH.items()
            }
        case _:
            return work(adapter, scenario, RUNS[scenario] * (FLOOR_FACTOR if adapter in FLOORS else 1))


def schedule(options: argparse.Namespace, adapters: list[str]) -> Iterator[tuple[str, int, str]]:
    rounds = {"d": options.drounds, "g": GROWTH_ROUNDS}
    for scenario in options.only:
        able = [adapter for adapter in adapters if scenario == "e" or runs_at_all(adapter)]
        for number in range(rounds.get(scenario, options.rounds)):
            yield from ((scenario, number, adapter) for adapter in able)


def write(path: Path, results: dict[str, Any]) -> None:
    """Replace the file whole, so that an interrupted series leaves what it had."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    beside.write_text(json.dumps(results), encoding="utf-8")
    beside.replace(path)


def _scenarios(text: str) -> list[str]:
    chosen = [one for one in text.split(",") if one]
    if unknown := sorted(set(chosen) - set(SCENARIOS)):
        raise argparse.ArgumentTypeError(f"no scenario {', '.join(unknown)}; there are {', '.join(SCENARIOS)}")
    return chosen


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench --", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of a, b, c and e (default 3)")
    parser.add_argument("--drounds", type=int, default=2, help="rounds of d (default 2)")
    parser.add_argument("--d-n", type=int, default=1000, help="runs at once in d (default 1000)")
    parser.add_argument("--only", type=_scenarios, default=list(SCENARIOS), help="scenarios, as a,b,c,d,e,g")
    parser.add_argument("--adapters", default="", help="names, as floor,floor_pydantic,lamina (the default)")
    parser.add_argument("--rivals", action="store_true", help="all adapters, the other frameworks' too")
    parser.add_argument("--out", type=Path, default=HERE.parent / "results" / "rivals.json", help="the file to write")
    parser.add_argument("--append", action="store_true", help="add rounds to what --out holds already")
    parser.add_argument("--show", action="store_true", help="print the tables of --out, and measure nothing")
    return parser.parse_args()


def choose(options: argparse.Namespace) -> list[str]:
    there = present()
    asked = [one for one in options.adapters.split(",") if one]
    if unknown := [one for one in asked if one not in there]:
        sys.exit(f"rivals: no adapter {', '.join(unknown)}; there are {', '.join(there)}")
    chosen = asked or [one for one in there if options.rivals or one in OURS]
    # Ratios need both floors of the same round.
    return [*FLOORS, *(one for one in chosen if one not in FLOORS)]


def main() -> None:
    options = parse()
    results: dict[str, Any] = {}
    if options.show or options.append:
        if options.out.exists():
            results = json.loads(options.out.read_text("utf-8"))
        elif options.show:
            sys.exit(f"rivals: {options.out} is not there")
    failed = 0
    if not options.show:
        steps = list(schedule(options, choose(options)))
        for step, (scenario, number, adapter) in enumerate(steps, start=1):
            if scenario == "e" and number == 0:
                measure(adapter, scenario, options.d_n)  # not counted: it compiles, and reads from the disk
            found = measure(adapter, scenario, options.d_n)
            failed += found is None or None in found.values()
            results.setdefault(scenario, {}).setdefault(adapter, []).append(found)
            write(options.out, results)
            print(f"[{step}/{len(steps)}] {scenario} round {number + 1} {adapter}", file=sys.stderr, flush=True)
    show(results)
    if not options.show:
        print(f"\nwritten to {options.out}")
    if failed:
        sys.exit(f"rivals: {failed} measurements failed")


if __name__ == "__main__":
    main()
