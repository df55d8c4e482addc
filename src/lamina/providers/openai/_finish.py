"""What a response's `finish_reason` means, and the last part that it becomes."""

from __future__ import annotations

from lamina.model import Finish, FinishReason, Metadata, Usage
from lamina.providers._wire import Object, text_in

_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "content_filter": "content-filter",
    "error": "error",
}


def finish_of(given: str, *, calls: bool, refused: bool, usage: Usage | None, metadata: Metadata) -> Finish:
    """Make the finish of a response.

    Args:
        given: The provider's word for why the model stopped.
        calls: Whether the response has calls: providers that end them with `stop` mean `tool-calls`.
        refused: Whether the model said its text as a refusal.
        usage: What it cost.
        metadata: The response's id and exact model.

    Example:
        >>> finish_of("stop", calls=True, refused=False, usage=None, metadata={}).reason
        'tool-calls'
    """
    reason = _REASONS.get(given, "unknown")
    if reason == "stop":
        reason = "content-filter" if refused else "tool-calls" if calls else "stop"
    return Finish(reason, usage, metadata)


def metadata_of(message: Object) -> Metadata:
    """Keep a response's id and exact model name, under the adapter's own name."""
    kept = {key: value for key in ("id", "model") if (value := text_in(message, key)[:256])}
    return {"openai": {**kept}} if kept else {}
