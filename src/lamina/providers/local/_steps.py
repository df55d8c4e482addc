"""What a conversation asks for next: each sentence of the user's is a step, and each call answers one."""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs

from lamina.model import Message, ToolMessage, UserMessage
from lamina.providers._wire import written
from lamina.providers.local._values import paths_in
from lamina.schema import JsonValue

MOST_STEPS = 8

# A full stop inside of a file's name ends nothing.
_BORDER = re.compile(r"(?<=[.!?;])\s+|\n+|,?\s+(?:and\s+)?then\s+", re.IGNORECASE)
# The line on budgets, and the request to mend an answer: neither asks for a tool.
_FRAMEWORK = ("<run-status>", "Your answer does not fit the required JSON Schema")


@attrs.frozen
class Steps:
    """The sentences of the latest user message, and how far the conversation has come with them.

    Attributes:
        sentences: At most eight.
        done: How many batches of calls were answered since that message.
        known: Paths that the message or the results after it name.
        calls: How many results the whole conversation has.
    """

    sentences: tuple[str, ...]
    done: int
    known: tuple[str, ...]
    calls: int


def steps_of(messages: Sequence[Message]) -> Steps:
    """Read where a conversation stands; what the framework itself says in the user's place is no request.

    Example:
        >>> steps_of((UserMessage.of("List the files. Then read a.txt, then say hello"),)).sentences
        ('List the files.', 'Then read a.txt', 'say hello')
    """
    asked, after = "", list(messages)
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, UserMessage) and not message.text.startswith(_FRAMEWORK):
            asked, after = message.text, list(messages[place + 1 :])
            break
    sentences = [sentence.strip() for sentence in _BORDER.split(asked) if sentence and sentence.strip()]
    results = [message for message in after if isinstance(message, ToolMessage)]
    texts = [asked, *(text_of(result.content) for message in results for result in message.results)]
    return Steps(
        tuple(sentences[:MOST_STEPS]),
        len(results),
        tuple(dict.fromkeys(path for text in texts for path in paths_in(text[:20_000])))[:32],
        sum(len(message.results) for message in messages if isinstance(message, ToolMessage)),
    )


def text_of(content: JsonValue) -> str:
    """Give a result's content as text."""
    return content if isinstance(content, str) else written(content)
