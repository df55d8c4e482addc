"""Tools that a service knows: found when a runtime prepares them, and all that is missing in one report."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from returns.result import Failure, Result, Success

from lamina.effect import ConstructionError, Problem
from lamina.redaction import Secrets
from lamina.schema import JsonValue
from lamina.tools import Late, Tool, settled_tools

SCHEMA: dict[str, JsonValue] = {"type": "object"}
SECRETS = Secrets()


class Shelf:
    def __init__(self, *names: str) -> None:
        self.names = names


async def handler(arguments: Any) -> Result[JsonValue, Any]:
    return Success(None)


def plain(name: str) -> Tool[Any, Any, Any]:
    return Tool.dynamic(name, SCHEMA, handler)


def late(name: str) -> Tool[Any, Any, Any]:
    def find(shelf: Shelf, secrets: Secrets) -> Result[tuple[Tool[Any, Any, Any], ...], tuple[Problem, ...]]:
        assert secrets is SECRETS
        if not shelf.names:
            return Failure((Problem("MISSING", name, ("the shelf is empty",)),))
        return Success(tuple(plain(each) for each in shelf.names))

    return attrs.evolve(plain(name), late=Late(key=Shelf, find=find))


def test_tools_that_are_known_stay_the_same() -> None:
    one = plain("one")

    assert settled_tools([one], lambda key: None, SECRETS) == (one,)


def test_what_a_service_knows_stands_in_its_place() -> None:
    found = settled_tools([plain("first"), late("some"), plain("last")], lambda key: Shelf("a", "b"), SECRETS)

    assert [tool.name for tool in found] == ["first", "a", "b", "last"]


def test_all_that_is_missing_is_one_report() -> None:
    with pytest.raises(ConstructionError) as raised:
        settled_tools([late("some"), late("more")], lambda key: Shelf(), SECRETS)

    assert [problem.subject for problem in raised.value.problems] == ["some", "more"]


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(ConstructionError, match="tool a"):
        settled_tools([plain("a"), late("some")], lambda key: Shelf("a"), SECRETS)


def test_a_service_that_lives_for_a_request_knows_nothing_yet() -> None:
    with pytest.raises(ConstructionError, match='life="app" for Shelf'):
        settled_tools([late("some")], lambda key: None, SECRETS)
