"""Records as they are stored: exact, bounded, and read strictly."""

from __future__ import annotations

from typing import Any

import pytest

from lamina.call import CallKey, ToolFailure, ToolSuccess
from lamina.conversation import (
    CallStarted,
    InputRecorded,
    RecordedError,
    ResponseDeclared,
    ResultSettled,
    RunEnded,
    RunSuspended,
    TurnAdvanced,
)
from lamina.conversation._codec import read_record, write_record
from lamina.conversation._json import Malformed, Refused, dump, load
from lamina.effect import message_of, tag_of, tagged
from lamina.model import AssistantMessage, File, Text, ToolCall, Usage
from lamina.testing._conversation_scene import every_record

KEY = CallKey("run-1", 2, "c")


@tagged("No issue {number}")
class IssueNotFound:
    number: int


def settled(value: Any) -> ResultSettled:
    return ResultSettled(KEY, ToolSuccess(value))


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("record", every_record(), ids=lambda record: f"{type(record).__name__}")
def test_what_was_written_is_read_and_written_alike(record: Any) -> None:
    written = write_record(record)
    back = read_record(written.kind, written.payload)

    assert write_record(back).payload == written.payload
    assert back.id == record.id
    if not (isinstance(record, ResultSettled) and isinstance(record.outcome, ToolFailure)):
        assert back == record


def test_the_stored_form_is_canonical_and_leaves_out_what_is_as_it_mostly_is() -> None:
    message = AssistantMessage((Text("hi"), ToolCall("c", "read", "{}"), File("image/png", b"\x00\xff")))
    assert write_record(ResponseDeclared("run-1", 1, message, Usage(1, 2))).canonical == (
        b'{"parts":[{"_tag":"Text","text":"hi"},{"_tag":"ToolCall","arguments":"{}","id":"c","name":"read"},'
        b'{"_tag":"File","data":"AP8=","media_type":"image/png"}],"run":"run-1","turn":1,'
        b'"usage":{"input_tokens":1,"output_tokens":2}}'
    )
    assert write_record(CallStarted(KEY, "d", None)).canonical == (
        b'{"approval_id":null,"approved_by":null,"arguments_digest":"d","execution":"uncertain",'
        b'"key":{"call":"c","run":"run-1","turn":2}}'
    )


def test_what_is_kept_has_its_members_in_the_order_that_they_had() -> None:
    value = {"b": 1, "a": {"z": [2**70], "y": 2}}
    kept, other = write_record(settled(value)), write_record(settled({"a": {"y": 2, "z": [2**70]}, "b": 1}))
    assert b'"value":{"b":1,"a":{"z":[1180591620717411303424],"y":2}}' in kept.payload
    assert repr(read_record(kept.kind, kept.payload)) == repr(settled(value))
    assert kept.canonical == other.canonical
    assert kept.payload != other.payload


def test_a_failure_keeps_its_value_tag_and_sentence_and_not_the_error() -> None:
    live = ToolFailure(IssueNotFound(7), {"_tag": "IssueNotFound", "number": 7})
    back = read_record("ResultSettled", write_record(ResultSettled(KEY, live)).payload)

    assert isinstance(back, ResultSettled)
    assert isinstance(back.outcome, ToolFailure)
    assert back.outcome.value == live.value
    assert back.outcome.message == live.message == "No issue 7"
    assert isinstance(back.outcome.error, RecordedError)
    assert (tag_of(back.outcome.error), message_of(back.outcome.error)) == ("IssueNotFound", "No issue 7")
    again = read_record("ResultSettled", write_record(back).payload)
    assert again == back
    assert hash(again.outcome.error) == hash(back.outcome.error)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("nan"), "no JSON"),
        ([float("inf")], "no JSON"),
        ((1, 2), "no JSON"),
        ({1: 2}, "no JSON"),
        ({"a": {1, 2}}, "no JSON"),
        (object(), "no JSON"),
        ("\ud800", "no JSON"),
        (nested(65), "nested"),
        (nested(3_000), "no JSON"),
        ([[]] * 5_000, "members"),
        ([list(range(4_000))] * 17, "members"),
        ({"n" * 257: 1}, "name"),
        ({"\\" * 257: 1}, "name"),
        ({"a": [{"é" * 257: 1}]}, "name"),
        ("x" * 65_537, "text"),
        ({"a": ["x" * 65_537]}, "text"),
        (["x" * 65_000] * 17, "bytes"),
    ],
)
def test_a_value_beyond_the_bounds_is_refused(value: Any, why: str) -> None:
    with pytest.raises(Refused, match=why):
        write_record(settled(value))


@pytest.mark.parametrize(
    "value",
    [
        nested(64),
        list(range(4_096)),
        [list(range(4_000))] * 16,
        {"n" * 256: 1},
        {"é" * 256: 1},
        {'"' * 256: '":' * 300},
        "x" * 65_536,
        ["x" * 65_000] * 16,
        [2**63, -(2**64), 2**300, 0.1, 1e300, -0.0, True, None, 1, 1.0],
        {"a": "\0\u2028\U0001f600"},
    ],
)
def test_a_value_within_the_bounds_comes_back_as_it_was(value: Any) -> None:
    back = read_record("ResultSettled", write_record(settled(value)).payload)
    assert repr(back) == repr(settled(value))


def test_a_cycle_is_refused() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(Refused):
        write_record(RunSuspended("run-1", 1, cycle))


def test_what_a_message_says_is_bounded_by_the_record_alone() -> None:
    long = AssistantMessage((Text("x" * 500_000), ToolCall("c", "write", "y" * 400_000)))
    assert len(write_record(ResponseDeclared("run-1", 1, long)).payload) > 900_000
    with pytest.raises(Refused, match="1048576 bytes"):
        write_record(ResponseDeclared("run-1", 1, AssistantMessage((Text("x" * 1_100_000),))))


@pytest.mark.parametrize(
    "record",
    [
        TurnAdvanced("run-1", "2"),  # type: ignore[arg-type]
        TurnAdvanced("run-1", True),
        RunEnded("run-1", "vanished"),  # type: ignore[arg-type]
        InputRecorded("run-1", "", "user", None, "x"),
        InputRecorded("run-1", "a/b", "user", None, "x"),
        ResponseDeclared("run-1", 1, AssistantMessage(("text",))),  # type: ignore[arg-type]
        ResultSettled(KEY, "done"),  # type: ignore[arg-type]
        "no record",
    ],
)
def test_a_record_with_a_wrong_field_is_refused(record: Any) -> None:
    with pytest.raises(Refused):
        write_record(record)


WRITTEN = [write_record(record) for record in every_record()]


@pytest.mark.parametrize("written", WRITTEN, ids=lambda written: written.kind)
def test_a_payload_with_a_member_too_much_or_too_few_is_malformed(written: Any) -> None:
    given = load(written.payload)
    with pytest.raises(Malformed):
        read_record(written.kind, dump({**given, "extra": 1}))
    with_defaults = {"usage", "readonly", "nth", "approval_id", "execution", "error", "tool", "under"}
    for name in set(given) - with_defaults:
        with pytest.raises(Malformed):
            read_record(written.kind, dump({key: value for key, value in given.items() if key != name}))
    for name in set(given) - {"state"}:  # which may be any JSON
        with pytest.raises(Malformed):
            read_record(written.kind, dump({**given, name: [[]]}))


@pytest.mark.parametrize(
    "payload", [b"", b"null", b"[]", b"{", b'{"run":1,"turn":1}', b'{"run":"r","turn":1.5}', b"\xff"]
)
def test_what_is_no_such_record_is_malformed(payload: bytes) -> None:
    with pytest.raises(Malformed):
        read_record("TurnAdvanced", payload)


@pytest.mark.parametrize(
    "part",
    [
        {"_tag": "Text", "text": 1},
        {"_tag": "Text"},
        {"_tag": "Picture", "text": "x"},
        {"_tag": "ToolCall", "id": "c", "name": "n", "arguments": "{}", "executor": "nobody"},
        {"_tag": "ToolResult", "id": "c", "name": "n", "content": 1, "is_error": 1},
        {"_tag": "File", "media_type": "a/b", "data": "not base64!"},
        {"_tag": "Text", "text": "x", "metadata": []},
        "text",
    ],
)
def test_a_message_with_a_malformed_part_is_malformed(part: Any) -> None:
    with pytest.raises(Malformed):
        read_record("ResponseDeclared", dump({"run": "r", "turn": 1, "parts": [part]}))
