"""What of a run holds no secret any more, and from where on: the model's answer, its deltas, and what was said before.

Each of these is looked through once, before anything keeps it or passes it on (design §8). Where nothing is known as a
secret, each function gives back what it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, TypeVar

import attrs
from returns.result import Failure, Result, Success

from lamina.conversation import History
from lamina.engine._declare import readable
from lamina.model import (
    AssistantMessage,
    ContentPart,
    Message,
    ModelError,
    ModelProtocolError,
    ModelResponse,
    Reasoning,
    ReasoningDelta,
    ReasoningEnd,
    Text,
    TextDelta,
    TextEnd,
    ToolCall,
)
from lamina.redaction import Secrets, StreamRedactor
from lamina.schema import canonical_json

M = TypeVar("M", bound=Message)
Answer: TypeAlias = Result[ModelResponse, ModelError | ModelProtocolError]


def clean_input(secrets: Secrets, text: str) -> str:
    """Give an input's text as the model may see it; JSON stays JSON."""
    return _json(secrets, text) if secrets.active else text


def clean_history(secrets: Secrets, history: History) -> History:
    """Give what was said before a run without what is known as a secret now."""
    if not secrets.active:
        return history
    messages = clean_messages(secrets, history.messages)
    changed = any(new is not old for new, old in zip(messages, history.messages, strict=True))
    return History(tuple(messages)) if changed else history


class CleanHistories:
    """What was said in conversations, without secrets: of one that has only grown, what is new is looked through.

    A conversation that is read again gives the same messages as before, and then others. Kept are the last few; what
    is registered as a secret meanwhile begins it all anew.
    """

    __slots__ = ("_kept",)
    MOST = 32

    def __init__(self) -> None:
        # By conversation: what finds secrets, what was said, and the same without any.
        self._kept: dict[str, tuple[object, Sequence[Message], list[Message]]] = {}

    def of(self, secrets: Secrets, conversation: str, history: History) -> History:
        """Give a conversation's history without what is known as a secret now."""
        if not secrets.active:
            return history
        matcher, said = secrets.matcher(), history.messages
        known, before, clean = self._kept.pop(conversation, (None, (), []))
        count = len(before)
        same = known is matcher and 0 < count <= len(said) and said[0] is before[0] and said[count - 1] is before[-1]
        clean = [*clean, *clean_messages(secrets, said[count:])] if same else clean_messages(secrets, said)
        self._kept[conversation] = matcher, said, clean
        if len(self._kept) > self.MOST:
            del self._kept[next(iter(self._kept))]
        changed = any(new is not old for new, old in zip(clean, said, strict=True))
        return History(tuple(clean)) if changed else history


def clean_messages(secrets: Secrets, messages: Sequence[Message]) -> list[Message]:
    """Give messages without secrets: each the same object where it holds none."""
    return [_message(secrets, message) for message in messages]


def clean_answer(secrets: Secrets, answer: Answer) -> Answer:
    """Give a model's answer without secrets, before anything of it is declared: its calls stay as they are from here.

    Returns:
        The same; a protocol error where two calls could not be told apart any more.
    """
    if not secrets.active:
        return answer
    if isinstance(answer, Failure):
        return Failure(secrets.redact_in(answer.failure()))
    response = answer.unwrap()
    message, metadata = _message(secrets, response.message), secrets.redact_in(response.metadata)
    if message is response.message and metadata is response.metadata:
        return answer
    calls = message.calls
    if len({call.id for call in calls}) != len(calls):
        return Failure(ModelProtocolError("duplicate-call", "two calls have the same id"))
    return Success(attrs.evolve(response, message=message, calls=calls, text=message.text, metadata=metadata))


def clean_response(secrets: Secrets, response: ModelResponse) -> ModelResponse:
    """Give a response that was declared earlier without what became known as a secret since."""
    answer = clean_answer(secrets, Success(response))
    if isinstance(answer, Failure):
        raise ValueError("two calls of the batch cannot be told apart without what is secret now")
    return answer.unwrap()


def _message(secrets: Secrets, message: M) -> M:
    if not isinstance(message, AssistantMessage):
        return secrets.redact_in(message)
    parts = [_part(secrets, part) for part in message.parts]
    texts = [index for index, part in enumerate(parts) if isinstance(part, Text)]
    if len(texts) > 1:
        said = "".join([part.text for part in parts if isinstance(part, Text)])
        clean = secrets.redact_text(said)
        if clean is not said:  # a secret that is spread over texts that every reader joins: they become one
            for index in texts:
                parts[index] = Text(clean if index == texts[0] else "")
    if all(new is old for new, old in zip(parts, message.parts, strict=True)):
        return message
    return attrs.evolve(message, parts=tuple(parts))


def _part(secrets: Secrets, part: ContentPart) -> ContentPart:
    if not isinstance(part, ToolCall):
        return secrets.redact_in(part)
    clean, arguments = secrets.redact_in(part), _json(secrets, part.arguments)
    return clean if arguments is part.arguments else attrs.evolve(clean, arguments=arguments)


def _json(secrets: Secrets, text: str) -> str:
    """Redact a text that may be JSON: what it says counts, however it is written, and it stays JSON."""
    clean = secrets.redact_text(text)
    if clean is text and "\\" not in text:
        return text
    value = readable(text)
    redacted = value if value is text else secrets.redact(value)
    if redacted is value:
        return clean
    return secrets.redact_text(canonical_json(redacted).decode())


class Deltas:
    """Lets the texts of one streamed response out, each without a secret that is split over its deltas."""

    __slots__ = ("_open", "_secrets")

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._open: dict[tuple[Literal["text", "reasoning"], str], StreamRedactor] = {}

    def of(self, part: object) -> str | None:
        """Give what an observer may see of a part; None where that is nothing."""
        if isinstance(part, TextDelta | ReasoningDelta):
            key = _key(part)
            redactor = self._open.get(key)
            if redactor is None:
                if not self._secrets.active:
                    return part.text
                redactor = self._open[key] = StreamRedactor(self._secrets)
            return redactor.feed(part.text) or None
        if isinstance(part, Text | Reasoning):  # a provider may send a text whole
            return self._secrets.redact_text(part.text)
        if isinstance(part, TextEnd | ReasoningEnd) and self._open:
            redactor = self._open.pop(_key(part), None)
            return None if redactor is None else redactor.end() or None
        return None


def _key(part: TextDelta | TextEnd | ReasoningDelta | ReasoningEnd) -> tuple[Literal["text", "reasoning"], str]:
    return ("text" if isinstance(part, TextDelta | TextEnd) else "reasoning"), part.id
