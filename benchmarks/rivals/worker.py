"""Measure one scenario of one adapter in a process of its own, and print it as one line of JSON.

`worker.py ADAPTER a|b|c RUNS`, `worker.py ADAPTER d RUNS_AT_ONCE` or `worker.py ADAPTER e IMPORT_STATEMENTS`. Little is
imported at the top: what stands there is not measured in scenario e.
"""

from __future__ import annotations

import gc
import json
import sys
import time


def memory() -> tuple[float, float]:
    """Give the resident memory now and at its peak, in MiB."""
    with open("/proc/self/status", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["VmRSS"].split()[0]) / 1024, int(fields["VmHWM"].split()[0]) / 1024


def measure_import(statements: str) -> dict[str, float]:
    before, _ = memory()
    wall, cpu = time.perf_counter(), time.process_time()
    exec(statements, {})
    return {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "rss0": before,
        "rss": memory()[0],
        "modules": len(sys.modules),
    }


def measure_runs(adapter: str, scenario: str, count: int) -> dict[str, float]:
    """Time each of `count` runs, one after the other."""
    import asyncio
    import importlib

    from scenario import FANOUT, FINAL, HITS, TURNS

    run = importlib.import_module(f"adapters.{adapter}").build(0)[scenario]
    expected = {"a": 0, "b": FANOUT, "c": TURNS}[scenario]

    async def series() -> dict[str, float]:
        HITS[0] = 0
        assert await run() == FINAL
        assert HITS[0] == expected, (HITS, expected)
        for _ in range(max(2, count // 10)):
            assert await run() == FINAL
        gc.collect()
        walls: list[int] = []
        cpus: list[int] = []
        for _ in range(count):
            wall, cpu = time.perf_counter_ns(), time.process_time_ns()
            answer = await run()
            cpus.append(time.process_time_ns() - cpu)
            walls.append(time.perf_counter_ns() - wall)
            assert answer == FINAL
        walls.sort()
        cpus.sort()
        return {
            "wall_us": walls[count // 2] / 1e3,
            "cpu_us": cpus[count // 2] / 1e3,
            "min_us": walls[0] / 1e3,
            "mean_cpu_us": sum(cpus) / count / 1e3,
            "n": count,
        }

    return asyncio.run(series())


def measure_crowd(adapter: str, count: int) -> dict[str, float]:
    """Time `count` runs of scenario b at once, with a model that takes 50 ms to answer."""
    import asyncio
    import importlib

    from scenario import FANOUT, FINAL, HITS

    run = importlib.import_module(f"adapters.{adapter}").build(0.05)["b"]

    async def crowd() -> dict[str, float]:
        assert await run() == FINAL
        gc.collect()
        before, _ = memory()
        wall, cpu = time.perf_counter(), time.process_time()
        answers = await asyncio.gather(*[asyncio.create_task(run()) for _ in range(count)])
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        assert answers == [FINAL] * count
        assert HITS[0] == FANOUT * (count + 1), HITS
        return {"wall": wall, "cpu": cpu, "rss_before": before, "peak": memory()[1], "n": count}

    return asyncio.run(crowd())


def main() -> None:
    adapter, scenario, argument = sys.argv[1:4]
    if scenario == "e":
        measured = measure_import(argument)
    elif scenario == "d":
        measured = measure_crowd(adapter, int(argument))
    else:
        measured = measure_runs(adapter, scenario, int(argument))
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
