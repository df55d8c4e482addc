"""The count of kills: it stands at the end of what a run of the tests prints, also where all else is quiet."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

KILLS = pytest.StashKey[list[tuple[str, Mapping[str, int], int]]]()


@pytest.fixture
def count_kills(request: pytest.FixtureRequest) -> Callable[[str, Mapping[str, int], int], None]:
    """Give what takes who was killed, how often and where, and the seed."""
    kept = request.config.stash.setdefault(KILLS, [])
    return lambda who, counts, seed: kept.append((who, counts, seed))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not (kept := config.stash.get(KILLS, [])):
        return
    terminalreporter.section("killed")
    for who, counts, seed in kept:
        where = ", ".join(f"{count} {each}" for each, count in counts.items())
        terminalreporter.line(f"{sum(counts.values())} {who}: {where} (seed {seed})")
    terminalreporter.line(f"{sum(sum(counts.values()) for _, counts, _ in kept)} kills in all")
