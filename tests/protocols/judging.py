"""What a suite came to, and what of it was expected: the baseline file, rows of a table, and the table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import attrs

BASELINE = Path(__file__).parent / "baseline.yml"
_ENTRY = re.compile(r"  - (\S+)(?:\s+# (.+))?")
_SCENARIO = re.compile(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed", re.MULTILINE)


class BadBaseline(Exception):
    """The baseline file says something that it may not."""


@attrs.frozen
class Ended:
    """What one suite came to.

    Attributes:
        suite: Its name.
        passed: How many scenarios passed, or checks of a peer.
        failed: What failed, each with a line that says how.
        side: Whose part of the baseline counts; None for suites that have none.
        missing: How many scenarios it should have had and had not.
    """

    suite: str
    passed: int
    failed: Mapping[str, str] = attrs.field(factory=dict[str, str])
    side: str | None = None
    missing: int = 0


def read_baseline(text: str) -> dict[str, dict[str, str]]:
    """Read what may fail: by side, each scenario with its reason.

    Raises:
        BadBaseline: A line cannot be read, an entry has no reason, or stands there twice.
    """
    sides: dict[str, dict[str, str]] = {}
    side: dict[str, str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line in ("server:", "client:"):
            side = sides.setdefault(line[:-1], {})
            continue
        entry = _ENTRY.fullmatch(line.rstrip())
        if entry is None or side is None:
            raise BadBaseline(f"line {number} is no entry: {line}")
        name, reason = entry[1], entry[2]
        if not reason:
            raise BadBaseline(f"line {number}: {name} has no reason")
        if name in side:
            raise BadBaseline(f"line {number}: {name} stands there twice")
        side[name] = reason
    return sides


def scenarios_of(output: str) -> tuple[int, dict[str, str]]:
    """Count the scenarios that a run of the official suite says it ended, and name those that failed."""
    found = _SCENARIO.findall(output)
    failed = {name: f"{bad} of {int(good) + int(bad)} checks failed" for name, good, bad in found if int(bad)}
    return len(found) - len(failed), failed


def verdict(ended: Sequence[Ended], baseline: Mapping[str, Mapping[str, str]]) -> tuple[list[str], list[str]]:
    """Judge: the lines of the table, and what is wrong.

    Something failed that the baseline does not name; the baseline names something that did not fail in any suite of
    its side which ran; or scenarios are missing.
    """
    wrong: list[str] = []
    rows: list[tuple[str, str, str, str]] = [("suite", "passed", "failed", "baseline")]
    for each in ended:
        known = baseline.get(each.side or "", {})
        bad = {name: how for name, how in each.failed.items() if name not in known}
        wrong += [f"{each.suite}: {name}: {how}" for name, how in bad.items()]
        if each.missing:
            wrong.append(f"{each.suite}: {each.missing} scenarios did not run")
        rows.append((each.suite, str(each.passed), str(len(bad)), str(len(each.failed) - len(bad))))
    for side, known in baseline.items():
        ran = [each for each in ended if each.side == side]
        failing = {name for each in ran for name in each.failed}
        if ran:
            wrong += [f"baseline: {side}: {name} fails no more; take it out" for name in known if name not in failing]
    return [*_table(rows), *_reasons(ended, baseline)], wrong


def _table(rows: Sequence[tuple[str, ...]]) -> Iterable[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )


def _reasons(ended: Sequence[Ended], baseline: Mapping[str, Mapping[str, str]]) -> Iterable[str]:
    by_reason: dict[str, list[str]] = {}
    for each in ended:
        for name in each.failed:
            reason = baseline.get(each.side or "", {}).get(name)
            if reason is not None and name not in by_reason.setdefault(f"{each.side}: {reason}", []):
                by_reason[f"{each.side}: {reason}"].append(name)
    for reason, names in by_reason.items():
        yield f"baseline of the {reason} ({', '.join(names)})"
