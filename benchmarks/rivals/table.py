"""The figures of a series as tables: medians, ratios to both floors, and the bounds that lamina is held to."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median
from typing import Any

# Ratios to floor_pydantic for a to d; KiB a run; CPU ms of the import; cost per turn at 200 turns over that at 10.
BOUNDS = {"a": 25.0, "b": 6.0, "c": 6.0, "d": 8.0, "d KiB": 40.0, "e": 180.0, "g": 1.25}
BOUND_TO = "lamina"
WIDTH = 22

Series = dict[str, list[Any]]


def show(results: dict[str, Series]) -> None:
    """Print a table for each part that the results hold, and what is over its bound."""
    verdicts: list[str] = []
    if any(scenario in results for scenario in "abc"):
        verdicts += _show_runs(results)
    if "d" in results:
        verdicts += _show_crowd(results["d"])
    if "e" in results:
        verdicts += _show_import(results["e"])
    if "g" in results:
        verdicts += _show_growth(results["g"])
    if verdicts:
        print(f"\n{BOUND_TO} against its bounds")
        print("\n".join(f"  {line}" for line in verdicts))


def _median(values: Iterable[float]) -> float:
    found = list(values)
    return median(found) if found else math.nan


def _field(series: list[Any], name: str) -> float:
    return _median(one[name] for one in series if one)


def _ratio(series: list[Any], floor: list[Any], name: str) -> float:
    """Take each ratio inside its own round, so that load that comes and goes cancels out."""
    return _median(one[name] / base[name] for one, base in zip(series, floor, strict=False) if one and base)


def _verdict(what: str, value: float, unit: str, bound: str) -> str:
    if math.isnan(value):
        return f"{what:38}not measured"
    limit = BOUNDS[bound]
    return f"{what:38}{value:8.2f} {unit:5} bound {limit:g}: {'ok' if value <= limit else 'OVER'}"


def _show_runs(results: dict[str, Series]) -> list[str]:
    scenarios = [one for one in "abc" if one in results]
    heads = "".join(f"{'cpu us ' + one:>14}{'x floor':>9}{'x f_pyd':>9}" for one in scenarios)
    print(f"\n{'adapter':{WIDTH}}{heads}")
    for adapter in dict.fromkeys(name for one in scenarios for name in results[one]):
        row = f"{adapter:{WIDTH}}"
        for one in scenarios:
            series = results[one].get(adapter, [])
            row += f"{_field(series, 'cpu_us'):14.0f}"
            row += "".join(f"{_ratio(series, floor, 'cpu_us'):9.1f}" for floor in _floors(results[one]))
        print(row)
    return [
        _verdict(f"{one}: CPU to floor_pydantic", _ratio(ours, _floors(results[one])[1], "cpu_us"), "x", one)
        for one in scenarios
        if (ours := results[one].get(BOUND_TO))
    ]


def _floors(series: Series) -> tuple[list[Any], list[Any]]:
    return series.get("floor", []), series.get("floor_pydantic", [])


def _kib_a_run(series: list[Any]) -> float:
    return _median((one["peak"] - one["rss_before"]) * 1024 / one["n"] for one in series if one)


def _show_crowd(results: Series) -> list[str]:
    count = next((one["n"] for series in results.values() for one in series if one), 0)
    heads = ("wall s", "cpu s", "x floor", "x f_pyd", "rss before", "peak MiB", "KiB/run")
    print(f"\n{f'd: {count} x b at once':{WIDTH}}" + "".join(f"{head:>11}" for head in heads))
    for adapter, series in results.items():
        ratios = [_ratio(series, floor, "cpu") for floor in _floors(results)]
        print(
            f"{adapter:{WIDTH}}{_field(series, 'wall'):11.2f}{_field(series, 'cpu'):11.2f}"
            + "".join(f"{ratio:11.1f}" for ratio in ratios)
            + f"{_field(series, 'rss_before'):11.0f}{_field(series, 'peak'):11.0f}{_kib_a_run(series):11.0f}"
        )
    if BOUND_TO not in results:
        return []
    ours = results[BOUND_TO]
    return [
        _verdict("d: CPU to floor_pydantic", _ratio(ours, _floors(results)[1], "cpu"), "x", "d"),
        _verdict("d: memory of a run in flight", _kib_a_run(ours), "KiB", "d KiB"),
    ]


def _show_import(results: Series) -> list[str]:
    heads = ("wall ms", "cpu ms", "rss MiB", "+MiB", "modules")
    print(f"\n{'e: import':{WIDTH}}" + "".join(f"{head:>11}" for head in heads))
    for adapter, series in results.items():
        print(
            f"{adapter:{WIDTH}}{_field(series, 'wall') * 1e3:11.0f}{_field(series, 'cpu') * 1e3:11.0f}"
            f"{_field(series, 'rss'):11.0f}{_field(series, 'rss') - _field(series, 'rss0'):11.0f}"
            f"{_field(series, 'modules'):11.0f}"
        )
    ours = results.get(BOUND_TO)
    return [_verdict("e: CPU of the import", _field(ours, "cpu") * 1e3, "ms", "e")] if ours else []


def _show_growth(results: Series) -> list[str]:
    print(f"\n{'g: cpu us a turn of c':{WIDTH}}" + "".join(f"{head:>11}" for head in ("10", "50", "200", "200/10")))
    growth: dict[str, float] = {}
    for adapter, series in results.items():
        # JSON turns the number of turns into text.
        rounds = [{int(turns): cost for turns, cost in one.items()} for one in series if one and all(one.values())]
        growth[adapter] = _median((one[200] / 200) / (one[10] / 10) for one in rounds)
        costs = "".join(f"{_median(one[turns] / turns for one in rounds):11.0f}" for turns in (10, 50, 200))
        print(f"{adapter:{WIDTH}}{costs}{growth[adapter]:11.2f}")
    if BOUND_TO not in results:
        return []
    rounds_run = len(results[BOUND_TO])
    return [_verdict(f"g: 200 v 10 turns, median of {rounds_run}", growth[BOUND_TO], "x", "g")]
