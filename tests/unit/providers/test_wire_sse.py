"""Events out of bytes: cut anywhere, ended anyhow, and bounded."""

from __future__ import annotations

import pytest

from lamina.model import ConnectionLost, InvalidOutput, Reason
from lamina.providers._wire import Broken, EventDecoder

STREAM = (
    ': ping\n\nevent: x\ndata: {"a": "é€🙂"}\n\nid: 7\r\ndata: one\r\ndata: two\r\n\r\ndata:three\r\rdata: [DONE]\n\n'
).encode()
EVENTS = ['{"a": "é€🙂"}', "one\ntwo", "three", "[DONE]"]


def decoded(*pieces: bytes) -> list[str]:
    decoder = EventDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)]


@pytest.mark.parametrize("at", range(len(STREAM) + 1))
def test_a_stream_cut_in_two_gives_the_same_events(at: int) -> None:
    assert decoded(STREAM[:at], STREAM[at:]) == EVENTS


def test_a_stream_cut_into_single_bytes_gives_the_same_events() -> None:
    assert decoded(*(STREAM[at : at + 1] for at in range(len(STREAM)))) == EVENTS


def test_an_event_without_its_blank_line_is_not_complete() -> None:
    assert decoded(b"data: half\n") == []


def test_lines_that_are_no_fields_are_counted() -> None:
    decoder = EventDecoder()
    assert list(decoder.feed(b"<html>\n<body>\n</html>\n: comment\nretry: 3\n")) == []
    assert (decoder.strays, decoder.events) == (3, 0)


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        (b"<html>" * 9, InvalidOutput()),
        (b"oops: no field", InvalidOutput()),
        (b"", ConnectionLost()),
        (b"dat", ConnectionLost()),
        (b'data: {"a', ConnectionLost()),
        (b": a comm", ConnectionLost()),
    ],
)
def test_what_a_last_line_without_an_end_says_about_the_stream(rest: bytes, reason: Reason) -> None:
    decoder = EventDecoder()
    assert list(decoder.feed(b"retry: 3\n" + rest)) == []
    assert decoder.cut_off().error.reason == reason


@pytest.mark.parametrize(
    "pieces",
    [
        [b"data: " + b"x" * 60, b"x" * 60],
        [b"data: " + b"x" * 60 + b"\ndata: " + b"x" * 60 + b"\n"],
    ],
    ids=["a line without an end", "many lines of one event"],
)
def test_an_event_beyond_the_limit_is_refused(pieces: list[bytes]) -> None:
    decoder = EventDecoder(limit=100)
    with pytest.raises(Broken) as broken:
        [list(decoder.feed(piece)) for piece in pieces]
    assert broken.value.error.reason == InvalidOutput()


def test_many_small_events_are_under_the_limit() -> None:
    decoder = EventDecoder(limit=20)
    assert len([event for _ in range(50) for event in decoder.feed(b"data: 0123456789\n\n")]) == 50


def test_bytes_that_are_no_utf8_are_refused_without_a_word_of_them() -> None:
    with pytest.raises(Broken) as broken:
        decoded(b"data: secret\xff\n\n")
    assert broken.value.error.reason == InvalidOutput()
    assert "secret" not in broken.value.error.detail
