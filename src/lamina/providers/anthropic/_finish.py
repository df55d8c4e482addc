"""What a message's `stop_reason` means, and the last part that it becomes."""

from __future__ import annotations

from typing import cast

from lamina.model import Finish, FinishReason, Metadata, Usage
from lamina.providers._wire import Object, object_in, text_in
from lamina.schema import JsonValue

_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool-calls",
    "refusal": "content-filter",
    "pause_turn": "pause",
}


def finish_of(given: str, *, calls: bool, usage: Usage | None, metadata: Metadata) -> Finish:
    """Make the finish of a message.

    Args:
        given: The provider's word for why the model stopped.
        calls: Whether there are calls for the application: servers that end them like a text mean `tool-calls`.
        usage: What it cost.
        metadata: The message's id and exact model.

    Example:
        >>> finish_of("end_turn", calls=False, usage=None, metadata={}).reason
        'stop'
        >>> finish_of("refusal", calls=False, usage=None, metadata={}).reason
        'content-filter'
    """
    reason = _REASONS.get(given, "unknown")
    return Finish("tool-calls" if reason == "stop" and calls else reason, usage, metadata)


def metadata_of(message: Object, delta: Object) -> Metadata:
    """Keep a message's id, its exact model name and why it was refused, under the adapter's own name.

    Example:
        >>> metadata_of({"id": "msg_1", "model": "claude-sonnet-4-5-20250929"}, {"stop_details": None})
        {'anthropic': {'id': 'msg_1', 'model': 'claude-sonnet-4-5-20250929'}}
    """
    kept: dict[str, JsonValue] = {key: value for key in ("id", "model") if (value := text_in(message, key)[:256])}
    if refused := object_in(delta, "stop_details"):
        kept["stop_details"] = cast("JsonValue", refused)
    return {"anthropic": kept} if kept else {}
