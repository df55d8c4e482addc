"""What each outcome says, to a model and to a client: fixed sentences, no exception's text, and bounds."""

from __future__ import annotations

from typing import get_args

import attrs
import pytest

from lamina.call import (
    CallKey,
    DefectKind,
    ExecutionClass,
    RejectionReason,
    ToolDefect,
    ToolFailure,
    ToolInvalidInput,
    ToolRejected,
    ToolSuccess,
    ToolUnknownOutcome,
    interrupted,
    told,
)
from lamina.effect import tagged


@tagged("There is no note {number}.")
class NoSuchNote:
    number: int


@tagged("{text}")
class Unspeakable:
    number: int

    @property
    def text(self) -> str:
        raise ValueError("canary")


def test_a_value_and_a_declared_failure_are_told_as_they_are_encoded() -> None:
    assert told(ToolSuccess([1, None])) == [1, None]
    assert told(ToolFailure(NoSuchNote(1), {"_tag": "NoSuchNote", "number": 1})) == {"_tag": "NoSuchNote", "number": 1}


@pytest.mark.parametrize("reason", get_args(RejectionReason))
def test_every_rejection_has_a_sentence_of_its_own(reason: RejectionReason) -> None:
    answer = told(ToolRejected(reason))

    assert answer == {"_tag": "ToolRejected", "reason": reason, "message": ToolRejected(reason).message}
    assert ToolRejected(reason).message.endswith(".")
    others = [other for other in get_args(RejectionReason) if other != reason]
    assert all(ToolRejected(other).message != ToolRejected(reason).message for other in others)


def test_a_rejections_own_words_come_before_the_fixed_ones_and_near_names_after() -> None:
    assert ToolRejected("unauthorized", "Ada may not.").message == "Ada may not."
    assert ToolRejected("no-such-tool", nearest=("a", "b")).message == "There is no tool of that name. Nearest: a, b."


@pytest.mark.parametrize("kind", get_args(DefectKind))
def test_a_defect_is_told_by_one_fixed_sentence(kind: DefectKind) -> None:
    assert told(ToolDefect(kind)) == {"_tag": "ToolDefect", "message": ToolDefect(kind).message}
    assert ToolDefect(kind) == ToolDefect(kind)
    assert {field.name for field in attrs.fields(ToolDefect)} == {"kind"}


def test_an_unknown_outcome_says_that_it_may_have_happened() -> None:
    assert told(ToolUnknownOutcome()) == {"_tag": "ToolUnknownOutcome", "message": ToolUnknownOutcome().message}
    assert "may have taken effect" in ToolUnknownOutcome().message


def test_invalid_input_is_told_with_all_problems() -> None:
    wrong = ToolInvalidInput(("$.a: missing", "$.b: expected integer"))

    assert told(wrong) == {"_tag": "ToolInvalidInput", "problems": ["$.a: missing", "$.b: expected integer"]}
    assert wrong.message == "$.a: missing; $.b: expected integer"


def test_a_failures_message_is_its_sentence_bounded_and_never_raises() -> None:
    assert ToolFailure(NoSuchNote(1), {}).message == "There is no note 1."
    assert ToolFailure("x" * 10_000, "x").message == "x" * 4_096
    assert ToolFailure(Unspeakable(1), {}).message == "Unspeakable"


@pytest.mark.parametrize("execution", get_args(ExecutionClass))
def test_what_never_started_had_no_effect(execution: ExecutionClass) -> None:
    assert interrupted(started=False, execution=execution) == ToolRejected("not-started")


@pytest.mark.parametrize(
    ("execution", "outcome"),
    [
        ("readonly", ToolDefect("interrupted")),
        ("idempotent", ToolUnknownOutcome()),
        ("uncertain", ToolUnknownOutcome()),
    ],
)
def test_what_started_and_was_cut_off_is_known_only_where_it_reads(execution: ExecutionClass, outcome: object) -> None:
    assert interrupted(started=True, execution=execution) == outcome


def test_a_key_is_one_calls_and_no_others_whatever_the_model_calls_it() -> None:
    assert str(CallKey("run-1", 2, "c/7")) == "run-1/2/c/7"
    assert CallKey("run-1", 2, "c") != CallKey("run-1", 3, "c")
    assert len({CallKey("r", 1, "c"), CallKey("r", 1, "c")}) == 1
