"""The same runs kept by other frameworks' SQLite stores: what keeping costs there, and what is promised for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from saver import AT_ONCE

SAVER = Path(__file__).resolve().parent / "saver.py"
TURNS = 20
RUNS = 2
TIMEOUT = 600.0
# By name: the packages that it cannot do without, and the store that is measured.
FRAMEWORKS = {
    "lamina": ((), "sqlite_store"),
    "langgraph": (("langchain", "langgraph", "langgraph.checkpoint.sqlite"), "AsyncSqliteSaver, durability sync"),
    "openai_agents": (("agents",), "SQLiteSession"),
}
PROMISES = {
    "lamina": """on the disk at each answer (WAL, synchronous FULL); a call's start before its body, a result when it is
      there; compare-and-append, one run at a time; every record for good, digests chained""",
    "langgraph": """on the disk at each answer (WAL, SQLite's default of FULL); a checkpoint after each step, with all
      messages so far again, and no start before a body; the last writer wins; every checkpoint can be gone back to""",
    "openai_agents": """on the disk at each answer (WAL, SQLite's default of FULL); the items of a turn after the turn,
      and no start before a body; whoever appends appends, two runs interleave; the items once, no digests""",
}


def there(packages: tuple[str, ...]) -> bool:
    try:
        return all(find_spec(each) is not None for each in packages)
    except ModuleNotFoundError:
        return False


def work(name: str, kept: str, folder: Path) -> dict[str, Any] | None:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        command = [sys.executable, str(SAVER), name, kept, str(RUNS), place]
        environment = {**os.environ, "BENCH_TURNS": str(TURNS), "OPENAI_API_KEY": "none", "LANGSMITH_TRACING": "false"}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT, env=environment, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            print(f"savers: {name} took more than {TIMEOUT:.0f} s", file=sys.stderr)
            return None
    if done.returncode:
        print(f"savers: {name} failed:\n{done.stderr[-800:]}", file=sys.stderr)
        return None
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measure_savers(folder: Path, rounds: int) -> None:
    """Measure and print the table; nothing here has a bound."""
    series: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    able = [name for name, (packages, _) in FRAMEWORKS.items() if there(packages)]
    for _ in range(rounds):
        found = {name: (work(name, "unkept", folder), work(name, "kept", folder)) for name in able}
        for name, (bare, kept) in found.items():
            if bare and kept:
                series.setdefault(name, []).append((bare, kept))
    print(f"\nsavers: c of {TURNS} turns in {AT_ONCE} conversations at once, kept in SQLite")
    heads = ("CPU us a turn", "of it keeping", "wall us a turn", "commits a run", "KiB a run", "CPU, x lamina")
    print(f"{'':54}" + "".join(f"{head:>16}" for head in heads))
    ours = series.get("lamina", [])
    for name, (_, store) in FRAMEWORKS.items():
        if name not in series:
            print(f"{f'{name}: {store}':54}{'not installed' if name not in able else 'failed':>16}")
            continue
        pairs = series[name]
        keeping = median(kept["cpu_us"] - bare["cpu_us"] for bare, kept in pairs)
        ratio = median(kept["cpu_us"] / mine["cpu_us"] for (_, kept), (_, mine) in zip(pairs, ours, strict=False))
        cpu, wall, commits, size = (median(kept[field] for _, kept in pairs) for field in _FIELDS)
        numbers = f"{cpu:16.0f}{keeping:16.0f}{wall:16.0f}{commits:16.1f}{size / 1024:16.1f}{ratio:16.1f}"
        print(f"{f'{name}: {store}':54}{numbers}")
    print("\nwhat is promised for that")
    for name in able:
        print(f"  {name:14}{' '.join(PROMISES[name].split())}")


_FIELDS = ("cpu_us", "wall_us", "commits", "bytes")
