"""The stages of one call, each on its own: resolve, available, decode, authorize, encode."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any

import attrs
import pytest
from returns.result import Failure, Success

from lamina.call import (
    Allowed,
    AuthorizationRequest,
    CallKey,
    NotAllowed,
    OutcomeUnknown,
    ToolDefect,
    ToolFailure,
    ToolInvalidInput,
    ToolRejected,
    ToolSuccess,
    ToolUnknownOutcome,
    check_authorized,
    check_available,
    decode,
    encode,
    resolve,
)
from lamina.effect import tagged
from lamina.schema import codec

CATALOG = {"read_file": 1, "read_folder": 2, "write_file": 3, "search": 4}
REQUEST = AuthorizationRequest(CallKey("r", 1, "c"), "agent", "read", object(), "readonly")


@attrs.frozen
class Word:
    text: str


@tagged("No {text}.")
class NoSuchWord:
    text: str


def test_a_name_is_found_exactly_or_answered_with_the_nearest() -> None:
    assert resolve(CATALOG, "search") == 4
    assert resolve(CATALOG, "read_fil") == ToolRejected(
        "no-such-tool", nearest=("read_file", "read_folder", "write_file")
    )
    assert resolve(CATALOG, "Search") == ToolRejected("no-such-tool", nearest=("search",))
    assert resolve(CATALOG, "zzz") == ToolRejected("no-such-tool")


def test_a_tool_that_counts_as_false_is_found_all_the_same() -> None:
    assert resolve({"zero": 0}, "zero") == 0


def test_a_huge_name_costs_little_and_is_not_echoed() -> None:
    refused = resolve(CATALOG, "read_file" * 100_000)

    assert isinstance(refused, ToolRejected)
    assert len(refused.message) < 200


async def answer(value: object) -> object:
    if isinstance(value, BaseException):
        raise value
    return value


@pytest.mark.parametrize(
    ("said", "is_available"),
    [(True, True), (False, False), (1, False), ("yes", False), (None, False), (ValueError("canary"), False)],
)
async def test_only_true_is_available(said: object, is_available: bool, caplog: pytest.LogCaptureFixture) -> None:
    refused = await check_available(lambda: answer(said), "read")

    assert refused == (None if is_available else ToolRejected("unavailable"))
    assert ("canary" in caplog.text) is isinstance(said, ValueError)


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        (Allowed(), None),
        (NotAllowed("Not you."), ToolRejected("unauthorized", "Not you.")),
        (NotAllowed(), ToolRejected("unauthorized")),
        (NotAllowed("x" * 9_000), ToolRejected("unauthorized", "x" * 2_048)),
        (True, ToolRejected("unauthorized")),
        (None, ToolRejected("unauthorized")),
        (RuntimeError("canary"), ToolRejected("unauthorized")),
    ],
)
async def test_only_allowed_is_authorized(said: object, refused: object, caplog: pytest.LogCaptureFixture) -> None:
    def ask(request: AuthorizationRequest) -> Awaitable[object]:
        assert request is REQUEST
        return answer(said)

    assert await check_authorized(ask, REQUEST) == refused
    assert ("canary" in caplog.text) is isinstance(said, RuntimeError)


async def test_a_cancellation_is_no_refusal() -> None:
    cancelled = asyncio.CancelledError()
    with pytest.raises(asyncio.CancelledError):
        await check_available(lambda: answer(cancelled), "read")
    with pytest.raises(asyncio.CancelledError):
        await check_authorized(lambda request: answer(cancelled), REQUEST)


def test_arguments_become_the_input_or_all_of_their_problems() -> None:
    assert decode(codec(Word), '{"text": "a"}') == Word("a")
    wrong = decode(codec(Word), '{"text": 1}')
    assert wrong == ToolInvalidInput(("$.text: expected string",))


def test_no_arguments_are_an_empty_object_and_white_space_is_none() -> None:
    @attrs.frozen
    class Nothing:
        pass

    assert decode(codec(Nothing), "") == Nothing()
    assert isinstance(decode(codec(Nothing), "  "), ToolInvalidInput)


def test_a_value_and_a_declared_failure_are_encoded() -> None:
    assert encode(codec(Word), codec(NoSuchWord), Success(Word("a")), "t") == ToolSuccess({"text": "a"})
    failed = encode(codec(Word), codec(NoSuchWord), Failure(NoSuchWord("a")), "t")
    assert failed == ToolFailure(NoSuchWord("a"), {"_tag": "NoSuchWord", "text": "a"})


@pytest.mark.parametrize("declares", [True, False])
def test_a_handler_may_say_that_it_does_not_know(declares: bool) -> None:
    outcome = encode(codec(Word), codec(NoSuchWord) if declares else None, Failure(OutcomeUnknown()), "t")

    assert outcome == ToolUnknownOutcome()


@pytest.mark.parametrize(
    "returned", [Success("canary"), Failure("canary"), "canary", None, Failure(None), Success(None)]
)
@pytest.mark.parametrize("declares", [True, False])
def test_what_is_not_declared_is_withheld(returned: Any, declares: bool, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "lamina"):
        outcome = encode(codec(Word), codec(NoSuchWord) if declares else None, returned, "the-tool")

    assert outcome == ToolDefect("output")
    assert "canary" not in caplog.text, "a value that is withheld is withheld from the log as well"
    assert [record.levelname for record in caplog.records] == ["ERROR"]
