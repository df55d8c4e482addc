"""The bound on results: untouched within it, and over it an envelope that is within it (RUN-022)."""

from __future__ import annotations

import json
from typing import Any, cast

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.call import DEFAULT_RESULT_BYTES, SMALLEST_RESULT_BYTES, ToolDefect, ToolFailure, ToolSuccess, bound

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30)


def size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


@given(values, st.integers(SMALLEST_RESULT_BYTES, 2_000))
def test_a_result_is_untouched_or_an_envelope_within_the_bound(value: Any, limit: int) -> None:
    kept = cast("ToolSuccess", bound(ToolSuccess(value), limit)).value

    if kept is value:
        return
    envelope = cast("dict[str, Any]", kept)
    assert list(envelope) == ["truncatedToolResult", "originalBytes", "head", "tail"]
    assert len(orjson.dumps(envelope)) <= limit
    assert envelope["originalBytes"] > limit


@given(st.text(min_size=400, max_size=900), st.integers(SMALLEST_RESULT_BYTES, 600))
def test_head_and_tail_are_the_ends_of_the_text_and_split_no_character(text: str, limit: int) -> None:
    kept = cast("ToolSuccess", bound(ToolSuccess(text), limit)).value
    if kept is text:
        return
    envelope = cast("dict[str, Any]", kept)
    written = orjson.dumps(text).decode()
    assert written.startswith(envelope["head"])
    assert written.endswith(envelope["tail"])
    # As much as fits is kept: the longest escape takes six bytes on either side.
    assert len(orjson.dumps(envelope)) > limit - 60


@pytest.mark.parametrize("extra", [0, 1])
def test_the_bound_is_exact(extra: int) -> None:
    text = "x" * (DEFAULT_RESULT_BYTES - 2 + extra)
    kept = cast("ToolSuccess", bound(ToolSuccess(text))).value

    assert (kept == text) is (extra == 0)


def test_a_declared_failure_is_bounded_and_keeps_its_error() -> None:
    failed = cast("ToolFailure", bound(ToolFailure("the error", "x" * 1_000), 300))

    assert failed.error == "the error"
    assert cast("dict[str, Any]", failed.value)["truncatedToolResult"] is True


def test_integers_beyond_64_bits_are_counted_and_kept() -> None:
    assert bound(ToolSuccess(2**70), 300) == ToolSuccess(2**70)
    cut = cast("dict[str, Any]", cast("ToolSuccess", bound(ToolSuccess([2**70] * 100), 300)).value)
    assert cut["originalBytes"] == size([2**70] * 100)
    assert cut["head"].startswith("[1180591620717411303424,")


def test_outcomes_without_a_value_pass() -> None:
    assert bound(ToolDefect("raised"), 256) == ToolDefect("raised")
