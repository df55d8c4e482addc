"""Outcomes as records hold them: a declared failure keeps its encoded value, its tag and its sentence."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, cast, get_args

from lamina.call import (
    DefectKind,
    Outcome,
    RejectionReason,
    ToolDefect,
    ToolFailure,
    ToolInvalidInput,
    ToolRejected,
    ToolSuccess,
    ToolUnknownOutcome,
)
from lamina.conversation._json import Malformed, Refused, mapping, members, opaque, text, texts
from lamina.effect import tag_of

_REASONS = frozenset(get_args(RejectionReason))
_DEFECTS = frozenset(get_args(DefectKind))


class RecordedError:
    """A declared failure as a record remembers it: `tag_of` and `message_of` say what they said of the live one.

    Attributes:
        tag: The tag that the failure had.
        message: Its sentence, at most 4,096 characters.
    """

    __slots__ = ("message",)
    __tag__: ClassVar[str] = "RecordedError"
    __template__: ClassVar[str] = "{message}"

    def __init__(self, message: str) -> None:
        self.message = message

    @property
    def tag(self) -> str:
        """The tag that the failure had."""
        return type(self).__tag__

    def __eq__(self, other: object) -> bool:
        """Compare by tag and sentence."""
        if not isinstance(other, RecordedError):
            return NotImplemented
        return self.tag == other.tag and self.message == other.message

    def __hash__(self) -> int:
        return hash((self.tag, self.message))

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"RecordedError({self.tag!r})"


@lru_cache(maxsize=1024)
def _with_tag(tag: str) -> type[RecordedError]:
    # A tag belongs to a class, so each recorded one has its own.
    return cast("type[RecordedError]", type("RecordedError", (RecordedError,), {"__slots__": (), "__tag__": tag}))


def write_outcome(outcome: Outcome) -> dict[str, Any]:
    """Give the JSON form of an outcome.

    Raises:
        Refused: It holds what no record can.

    Example:
        >>> write_outcome(ToolSuccess({"n": 1}))
        {'_tag': 'ToolSuccess', 'value': {'n': 1}}
    """
    kind = type(outcome)
    if kind is ToolSuccess:
        return {"_tag": "ToolSuccess", "value": opaque(cast("ToolSuccess", outcome).value)}
    if isinstance(outcome, ToolFailure):
        return {
            "_tag": "ToolFailure",
            "value": opaque(outcome.value),
            "error": tag_of(outcome.error),
            "message": outcome.message,
        }
    if isinstance(outcome, ToolRejected):
        made: dict[str, Any] = {"_tag": "ToolRejected", "reason": outcome.reason}
        if outcome.detail:
            made["detail"] = outcome.detail
        if outcome.nearest:
            made["nearest"] = list(outcome.nearest)
        return made
    if isinstance(outcome, ToolInvalidInput):
        return {"_tag": "ToolInvalidInput", "problems": list(outcome.problems)}
    if isinstance(outcome, ToolDefect):
        return {"_tag": "ToolDefect", "kind": outcome.kind}
    if kind is ToolUnknownOutcome:
        return {"_tag": "ToolUnknownOutcome"}
    raise Refused("it is an outcome of an unknown class")


def read_outcome(value: object) -> Outcome:
    """Make an outcome of its JSON form.

    Raises:
        Malformed: It is none.
    """
    tag = mapping(value).get("_tag")
    if tag == "ToolSuccess":
        return ToolSuccess(members(value, ("_tag", "value"))["value"])
    if tag == "ToolFailure":
        given = members(value, ("_tag", "value", "error", "message"))
        return ToolFailure(_with_tag(text(given["error"]))(text(given["message"])), given["value"])
    if tag == "ToolRejected":
        given = members(value, ("_tag", "reason"), ("detail", "nearest"))
        if given["reason"] not in _REASONS:
            raise Malformed
        return ToolRejected(given["reason"], text(given.get("detail", "")), texts(given.get("nearest", [])))
    if tag == "ToolInvalidInput":
        return ToolInvalidInput(texts(members(value, ("_tag", "problems"))["problems"]))
    if tag == "ToolDefect":
        kind = members(value, ("_tag", "kind"))["kind"]
        if kind not in _DEFECTS:
            raise Malformed
        return ToolDefect(kind)
    if tag == "ToolUnknownOutcome":
        members(value, ("_tag",))
        return ToolUnknownOutcome()
    raise Malformed
