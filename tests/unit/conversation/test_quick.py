"""What is written at once is what the codec writes, or is left to it."""

from __future__ import annotations

from typing import Any

import pytest

from lamina.call import CallKey, ToolDefect, ToolSuccess
from lamina.conversation import CallStarted, RecordRefused, ResponseDeclared, ResultSettled, TurnAdvanced
from lamina.conversation._chain import body_of, make_batch
from lamina.conversation._codec import VERSION, write_record
from lamina.conversation._json import LONGEST_TEXT
from lamina.conversation._quick import QUICK
from lamina.conversation._records import run_of
from lamina.model import AssistantMessage, Reasoning, Text, ToolCall, Usage

EVERY_CHARACTER = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x10000), 0x10000, 0x10FFFF]))
KEY = CallKey("r", 7, "c")
SAID = (Text("é\n"), ToolCall('c"1', "add", '{"x": "\\u0000"}'), ToolCall("c2", "add", ""))


@pytest.mark.parametrize(
    "record",
    [
        TurnAdvanced("r", 2**70),
        TurnAdvanced('r\\"', 1),
        CallStarted(KEY, "d", None),
        CallStarted(CallKey("r", 1, EVERY_CHARACTER), "d", "ada", "approval:r/1/c", "readonly"),
        ResultSettled(KEY, ToolSuccess(None)),
        ResultSettled(KEY, ToolSuccess(True)),
        ResultSettled(KEY, ToolSuccess(False)),
        ResultSettled(KEY, ToolSuccess(-(2**63))),
        ResultSettled(KEY, ToolSuccess(EVERY_CHARACTER)),
        ResponseDeclared("r", 1, AssistantMessage(())),
        ResponseDeclared("r", 1, AssistantMessage(SAID), Usage(10, 5)),
        ResponseDeclared("r", 1, AssistantMessage(SAID), None, ("c2", 'c"1')),
    ],
)
def test_what_is_written_at_once(record: Any) -> None:
    written, made = write_record(record), QUICK[type(record)](record)
    assert made is not None
    run, turn, record_id, payload = made
    assert (run, record_id) == (run_of(record), record.id)
    assert turn == (record.key.turn if hasattr(record, "key") else record.turn)
    assert payload.encode() == written.canonical
    batch = make_batch([record], run)
    assert not isinstance(batch, RecordRefused)
    assert batch.body == body_of([(written.id, written.kind, VERSION, written.canonical)])


@pytest.mark.parametrize(
    "record",
    [
        ResultSettled(KEY, ToolSuccess({"b": 1, "a": 2})),
        ResultSettled(KEY, ToolSuccess(0.5)),
        ResultSettled(KEY, ToolSuccess(2**63)),
        ResultSettled(KEY, ToolSuccess("x" * (LONGEST_TEXT + 1))),
        ResultSettled(KEY, ToolDefect("raised")),
        ResponseDeclared("r", 1, AssistantMessage((Reasoning("hm"),))),
        ResponseDeclared("r", 1, AssistantMessage((Text("x", {"b": 1, "a": 2}),))),
        ResponseDeclared("r", 1, AssistantMessage((ToolCall("c", "t", "", "provider"),))),
        ResponseDeclared("r", 1, AssistantMessage(()), Usage(1, 2, reasoning_tokens=1)),
        CallStarted(KEY, "d", None, None, "whenever"),  # type: ignore[arg-type]
        TurnAdvanced("r", True),
        TurnAdvanced("r", 1.0),  # type: ignore[arg-type]
    ],
)
def test_what_is_left_to_the_codec(record: Any) -> None:
    assert QUICK[type(record)](record) is None


@pytest.mark.parametrize(
    "record",
    [
        TurnAdvanced("r", "1"),  # type: ignore[arg-type]
        CallStarted(KEY, 7, None),  # type: ignore[arg-type]
        CallStarted(CallKey("r", 1, "\ud800"), "d", None),
        ResultSettled(KEY, ToolSuccess("\udfff")),
        ResultSettled(KEY, ToolSuccess("x" * (LONGEST_TEXT + 1))),
        ResponseDeclared("r", 1, AssistantMessage((Text("\ud800"),))),
        ResponseDeclared("r", 1, AssistantMessage((Text("é" * 600_000),))),
    ],
)
def test_what_no_record_can_hold_is_refused_all_the_same(record: Any) -> None:
    refused = make_batch([TurnAdvanced("r", 1), record], "r")
    assert isinstance(refused, RecordRefused)
    assert refused.record == record.id


def test_a_record_of_another_run_is_refused() -> None:
    refused = make_batch([TurnAdvanced("r", 1), TurnAdvanced("other", 1)], "r")
    assert isinstance(refused, RecordRefused)
    assert (refused.record, refused.why) == ("advanced:other/1", "it is not this run's own")


def test_an_id_that_a_database_does_not_keep_is_stored_in_another_form() -> None:
    batch = make_batch([CallStarted(CallKey("r", 1, "a\0\\"), "d", None)], "r")
    assert not isinstance(batch, RecordRefused)
    assert batch.id == "started:r/1/a\\0\\\\"
