"""What became of a call: six outcomes, and what a model is told of each (design §4, seed 004 §2)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from lamina.call._key import ExecutionClass
from lamina.effect import Value, message_of, tag_of, tagged
from lamina.schema import JsonValue

RejectionReason: TypeAlias = Literal[
    "no-such-tool", "unavailable", "unauthorized", "denied", "expired", "budget", "not-started"
]
DefectKind: TypeAlias = Literal["raised", "output", "interrupted"]

_REJECTED: dict[RejectionReason, str] = {
    "no-such-tool": "There is no tool of that name.",
    "unavailable": "The tool is not available now.",
    "unauthorized": "The call is not authorized.",
    "denied": "The call was denied.",
    "expired": "Nobody approved the call in time.",
    "budget": "The budget for calls is used up; answer with what you have.",
    "not-started": "The call was cancelled before it started; it had no effect.",
}
_DEFECT: dict[DefectKind, str] = {
    "raised": "The tool broke while it ran; nothing more is known.",
    "output": "The tool gave something that it does not declare; it is withheld.",
    "interrupted": "The call was interrupted; it only reads, so it had no effect.",
}
_LONGEST_MESSAGE = 4_096
_UNKNOWN = "The call had started when it was interrupted. It may have taken effect, or not: do not assume either."


def sentence_of(error: object) -> str:
    """Give a declared failure's own sentence, at most 4,096 characters; its tag where the sentence cannot be made.

    Example:
        >>> sentence_of(ValueError("secret"))
        'ValueError'
    """
    try:
        return message_of(error)[:_LONGEST_MESSAGE]
    except Exception:  # the template names a property of the application's, and that raised
        return tag_of(error)


@attrs.frozen(eq=False, repr=False)
class ToolSuccess(Value):
    """The handler returned a value, encoded by the tool's own schema."""

    value: JsonValue


@attrs.frozen(eq=False, repr=False)
class ToolFailure(Value):
    """The handler returned a declared failure.

    Attributes:
        error: The failure as the handler gave it.
        value: The same, encoded.
    """

    error: object
    value: JsonValue

    @property
    def message(self) -> str:
        """The failure's own sentence."""
        return sentence_of(self.error)


@attrs.frozen(eq=False, repr=False)
class ToolRejected(Value):
    """The pipeline refused the call; its handler never ran.

    Attributes:
        reason: Which stage refused.
        detail: What the refusing side says of it, empty where it says nothing.
        nearest: For `no-such-tool`, the names that come closest.
        error: The tagged error that a contract gives instead; it is not kept.
    """

    reason: RejectionReason
    detail: str = ""
    nearest: tuple[str, ...] = ()
    error: object = attrs.field(default=None, eq=False, repr=False)

    @property
    def message(self) -> str:
        """One sentence for the model or the client."""
        if self.error is not None:
            return sentence_of(self.error)
        said = self.detail or _REJECTED[self.reason]
        return f"{said} Nearest: {', '.join(self.nearest)}." if self.nearest else said


@attrs.frozen(eq=False, repr=False)
class ToolInvalidInput(Value):
    """The arguments do not fit the tool's schema; each problem is `$.path: why`, without the value.

    Attributes:
        problems: What does not fit.
        error: The tagged error that a contract gives instead, whose sentence tells no details; it is not kept.
    """

    problems: tuple[str, ...]
    error: object = attrs.field(default=None, eq=False, repr=False)

    @property
    def message(self) -> str:
        """All problems in one line."""
        if self.error is not None:
            return sentence_of(self.error)
        return "; ".join(self.problems)


@attrs.frozen(eq=False, repr=False)
class ToolDefect(Value):
    """The handler raised, broke its output schema, or was interrupted where that does no harm.

    It carries no text of the exception: that is in the application's own log.
    """

    kind: DefectKind = "raised"

    @property
    def message(self) -> str:
        """One fixed sentence."""
        return _DEFECT[self.kind]


@attrs.frozen(eq=False, repr=False)
class ToolUnknownOutcome(Value):
    """The call had started and was cut off; whether it took effect is not known."""

    @property
    def message(self) -> str:
        """One fixed sentence."""
        return _UNKNOWN


@tagged("It is not known whether the call took effect.")
class OutcomeUnknown:
    """What a handler answers whose own call to something outside was cut off after it had gone out.

    When to use: as a declared failure, where a connection is lost between a request and its answer. The outcome is
    then `ToolUnknownOutcome`, and no `ToolFailure`: the model is told that it may have happened.

    Example:
        >>> from returns.result import Failure
        >>> Failure(OutcomeUnknown())
        <Failure: It is not known whether the call took effect.>
    """


Outcome: TypeAlias = ToolSuccess | ToolFailure | ToolRejected | ToolInvalidInput | ToolDefect | ToolUnknownOutcome


def told(outcome: Outcome) -> JsonValue:
    """Give what a model is told of an outcome: the value, the encoded failure, or a tag with its sentence.

    Example:
        >>> told(ToolSuccess({"n": 1}))
        {'n': 1}
        >>> told(ToolRejected("denied"))
        {'_tag': 'ToolRejected', 'reason': 'denied', 'message': 'The call was denied.'}
    """
    match outcome:
        case ToolSuccess() | ToolFailure():
            return outcome.value
        case ToolInvalidInput():
            return {"_tag": "ToolInvalidInput", "problems": list(outcome.problems)}
        case ToolRejected():
            return {"_tag": "ToolRejected", "reason": outcome.reason, "message": outcome.message}
        case ToolDefect() | ToolUnknownOutcome():
            return {"_tag": tag_of(outcome), "message": outcome.message}


def interrupted(*, started: bool, execution: ExecutionClass) -> Outcome:
    """Give the honest outcome of a call that was cut off by a cancel or a crash (design §4, last three rows).

    Example:
        >>> interrupted(started=True, execution="uncertain")
        ToolUnknownOutcome()
        >>> interrupted(started=False, execution="uncertain").reason
        'not-started'
    """
    if not started:
        return ToolRejected("not-started")
    return ToolDefect("interrupted") if execution == "readonly" else ToolUnknownOutcome()
