"""Reasons, what they say, and foreign exceptions made safe (MODEL-007)."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from lamina.model import (
    Authentication,
    ModelError,
    ProviderDown,
    RateLimited,
    Reason,
    Unclassified,
    UnknownModel,
    Unsupported,
    bounded,
    tag_of_foreign,
    words_of_foreign,
)
from lamina.schema import codec

CANARY = "canary-7f3a"
GIVEN: dict[str, tuple[Any, ...]] = {"UnknownModel": ("m",), "Unsupported": ("images",), "Unclassified": ("KeyError",)}
REASONS: list[Reason] = [reason(*GIVEN.get(reason.__name__, ())) for reason in get_args(Reason)]


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: type(reason).__name__)
def test_each_reason_says_one_sentence_of_its_own(reason: Reason) -> None:
    error = ModelError(reason, CANARY)

    assert str(error) == str(reason)
    assert str(error).endswith(".")
    assert CANARY not in str(error) + repr(error)
    assert error.detail == CANARY
    assert error.retryable is type(reason).retryable


def test_no_two_reasons_say_the_same() -> None:
    assert len({str(reason) for reason in REASONS}) == len(REASONS)


def test_what_passes_is_worth_another_try_and_nothing_else() -> None:
    retryable = {type(reason).__name__ for reason in REASONS if reason.retryable}

    assert retryable == {"RateLimited", "ProviderDown", "ConnectionLost", "TimedOut", "InvalidOutput"}


def test_the_waiting_time_is_the_providers() -> None:
    assert ModelError(RateLimited(2.5)).retry_after == 2.5
    assert ModelError(ProviderDown(503, 9.0)).retry_after == 9.0
    assert ModelError(RateLimited(0.0)).retry_after == 0.0
    assert ModelError(RateLimited()).retry_after is None
    assert ModelError(Authentication()).retry_after is None


@pytest.mark.parametrize("hostile", [float("nan"), float("inf"), -1.0])
def test_a_waiting_time_that_is_none_is_left_out(hostile: float) -> None:
    assert ModelError(RateLimited(hostile)).retry_after is None
    assert ModelError(ProviderDown(503, hostile)).retry_after is None


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: type(reason).__name__)
def test_errors_are_json(reason: Reason) -> None:
    error = ModelError(reason, "d")

    assert codec(ModelError).decode(codec(ModelError).encode(error).unwrap()).unwrap() == error


class Boobytrapped(Exception):
    """Every way of asking it for words runs code of its own."""

    def __str__(self) -> str:
        raise SystemExit(CANARY)

    __repr__ = __str__

    @property
    def args(self) -> Any:
        raise SystemExit(CANARY)

    @property
    def __class__(self) -> Any:
        raise SystemExit(CANARY)


class Worded(str):
    def __str__(self) -> str:
        raise SystemExit(CANARY)

    def __getitem__(self, _: Any) -> str:
        raise SystemExit(CANARY)


class Meta(type):
    @property
    def __name__(cls) -> str:
        raise SystemExit(CANARY)


class Masked(Exception, metaclass=Meta):
    pass


def test_an_unknown_exception_becomes_a_value_without_running_it() -> None:
    error = ModelError.foreign(Boobytrapped("what it was made with", Worded("x"), object()))

    assert error == ModelError(Unclassified("Boobytrapped"), "what it was made with")
    assert tag_of_foreign(Masked()) == "Masked"


def test_a_known_exception_keeps_its_reason() -> None:
    assert ModelError.foreign(OSError(2, "gone"), ProviderDown(500)) == ModelError(ProviderDown(500), "2 gone")


def test_foreign_words_are_bounded() -> None:
    long = type("N" * 500, (Exception,), {})

    assert len(words_of_foreign(ValueError("x" * 100_000, "y" * 100_000))) == 4096
    assert len(words_of_foreign(ValueError(*["x" * 300] * 10_000))) == 4096
    assert len(tag_of_foreign(long())) == 128
    assert words_of_foreign(ValueError(10**10_000)) == ""
    assert words_of_foreign(ValueError("half \ud800")) == "half ?"


@pytest.mark.parametrize("word", [None, 7, b"x", Worded("x"), object()])
def test_what_is_no_text_gives_no_words(word: object) -> None:
    assert bounded(word) == ""
    assert ModelError(UnknownModel("m"), word).detail == ""  # type: ignore[arg-type]


def test_the_detail_is_bounded_too() -> None:
    assert len(ModelError(Unsupported("x"), "y" * 10_000).detail) == 4096
