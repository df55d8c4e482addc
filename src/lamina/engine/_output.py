"""The final answer: decoded by the agent's output, and what is said where it does not fit (AUTH-008)."""

from __future__ import annotations

from typing import Any

from returns.result import Failure, Result, Success

from lamina.agent import Agent
from lamina.model import UserMessage
from lamina.redaction import Secrets


def decode_answer(agent: Agent[Any, Any, Any], text: str, secrets: Secrets) -> Result[object, tuple[str, ...]]:
    """Decode an answer; the failure is every problem, as `$.path: why`. What JSON escapes hid is redacted, too."""
    if agent.plain_output:
        return Success(text)
    decoded = agent.output.decode_json(text)
    if isinstance(decoded, Failure):
        return Failure(secrets.redact_in(decoded.failure().problems))
    return Success(secrets.redact_in(decoded.unwrap()))


def repair_message(problems: tuple[str, ...]) -> UserMessage:
    """Tell the model what is wrong with its answer."""
    listed = "\n".join(f"- {problem}" for problem in problems)
    return UserMessage.of(
        f"Your answer does not fit the required JSON Schema:\n{listed}\nAnswer again, with the JSON value alone."
    )
