"""What a conversation adds to a run: scenario c of the rivals, fifty at once, with and without one.

Each kind of run has a process of its own, the one without a conversation too; they make a round in turns. In one
process for all, each would pay for the garbage collections that the others' histories bring about.

`beyond` is what a committed batch costs beyond its statements: the CPU time of the runs with conversations, less that
of the same runs without, less that of the very same calls of `execute`, `BEGIN` and `COMMIT` with them, made once more
by hand on a bare connection of `sqlite3`; divided by the number of batches. It holds the encoding, the digest, the
statements' making, and two ways between threads.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from run_worker import AT_ONCE, KINDS
from scenario import TURNS
from verdict import Verdict

WORKER = Path(__file__).resolve().parent / "run_worker.py"
TIMEOUT = 120.0
MOST_TIMES, MOST_BEYOND = 2.5, 60.0
ROUNDS = 9
"""At least so many: another program takes a whole round's time now and then."""


class Worker:
    """A process that runs one kind."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER), kind, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.is_there = self.line() == "ready"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def round(self) -> float:
        """Give the CPU microseconds a turn."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return float(self.line())


@contextlib.contextmanager
def working(folder: Path) -> Iterator[dict[str, Worker]]:
    """Have a worker for each kind that can be run here."""
    workers = {kind: Worker(kind, folder) for kind in KINDS}
    try:
        yield {kind: worker for kind, worker in workers.items() if worker.is_there}
    finally:
        for worker in workers.values():
            with contextlib.suppress(BrokenPipeError):
                worker.process.communicate("\n", timeout=TIMEOUT)


def own_statements(folder: Path, rounds: int) -> tuple[float, float]:
    """Give the batches of a run, and the CPU microseconds of a batch's own statements."""
    command = [sys.executable, str(WORKER), "statements", str(folder), str(rounds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT, check=True)
    batches, cost = map(float, done.stdout.split())
    return batches, cost


def measure_runs(folder: Path, rounds: int) -> list[Verdict]:
    """Measure, print the table, and hold lamina to its bounds."""
    costs: dict[str, list[float]] = {}
    with working(folder) as workers:
        for number in range(max(rounds, ROUNDS) + 1):
            for kind, worker in workers.items():
                cost = worker.round()
                if number:  # the first is not counted: it fills the caches
                    costs.setdefault(kind, []).append(cost)
    batches, statements = own_statements(folder, max(rounds, 5))
    print(
        f"\nruns: c, {AT_ONCE} at once, each kind in a process of its own, {batches:.0f} batches a run; "
        f"their statements by themselves {statements:.1f} us"
    )
    print(f"{'':28}{'CPU us a turn':>15}{'to no conversation':>20}")
    for name, series in costs.items():
        base = costs["readonly, no conversation" if name.startswith("readonly") else "no conversation"]
        ratio = "" if series is base else f"{_times(series, base):.2f}x"
        print(f"{name:28}{statistics.median(series):15.0f}{ratio:>20}")
    plain, kept = costs["no conversation"], costs["SQLite"]
    more = statistics.median(one - base for one, base in zip(kept, plain, strict=True))
    beyond = more * (TURNS + 1) / batches - statements
    return [
        Verdict("runs: c in conversations on SQLite to c without", _times(kept, plain), "x", MOST_TIMES),
        Verdict("runs: a committed batch beyond its statements", beyond, "us", MOST_BEYOND),
    ]


def _times(series: list[float], base: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(series, base, strict=True))
