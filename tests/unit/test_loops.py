"""The arrangement in conftest.py: asyncio by default, both loops where marked, and each fixture with its test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

CLOSED_ON: list[str] = []


def running_loop() -> str:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return "trio"
    return "asyncio"


@pytest.fixture
async def made_on() -> AsyncIterator[str]:
    await anyio.lowlevel.checkpoint()
    yield running_loop()
    CLOSED_ON.append(running_loop())


async def test_a_plain_test_runs_on_asyncio(made_on: str) -> None:
    assert (made_on, running_loop()) == ("asyncio", "asyncio")


@pytest.mark.anyio
async def test_a_marked_test_runs_on_the_loop_it_names(made_on: str, anyio_backend_name: str) -> None:
    assert (made_on, running_loop()) == (anyio_backend_name, anyio_backend_name)


@pytest.mark.anyio
@settings(max_examples=3)
@given(st.integers())
async def test_a_property_runs_there_as_well(anyio_backend: str, number: int) -> None:
    assert running_loop() == anyio_backend


def test_fixtures_were_closed_on_the_loop_that_made_them(request: pytest.FixtureRequest) -> None:
    names = [item.name for item in request.session.items if item.path == request.path]

    assert {name for name in names if "marked" in name} == {
        "test_a_marked_test_runs_on_the_loop_it_names[asyncio]",
        "test_a_marked_test_runs_on_the_loop_it_names[trio]",
    }
    assert set(CLOSED_ON) == {"asyncio", "trio"}
