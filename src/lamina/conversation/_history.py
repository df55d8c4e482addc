"""The history of a conversation: a value that is a valid request at any time (design §4).

The invariant: every application call in it has exactly one result, in the message right after it, in declaration
order. Only a `Transcript`'s open batch, which belongs to a run in progress, may hold calls that wait for theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import attrs

from lamina.effect import ConstructionError, Problem
from lamina.model import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, ToolResult, UserMessage


@attrs.frozen
class History:
    """What was said, oldest first; without the framework's own system messages.

    Attributes:
        messages: Users', assistants' and tools' messages.

    Raises:
        ConstructionError: A call has no result, a result no call, or a batch is out of order.

    Example:
        >>> History.of(UserMessage.of("hello")).messages[0].text
        'hello'
    """

    messages: tuple[Message, ...] = ()

    def __attrs_post_init__(self) -> None:
        if problems := history_problems(self.messages):
            raise ConstructionError([Problem("HISTORY", "messages", tuple(problems))])

    @staticmethod
    def of(*messages: Message) -> History:
        """Make a history of some messages."""
        return History(messages)


def history_problems(messages: Sequence[Message]) -> list[str]:
    """Give what is wrong with a sequence of messages, one line each; an empty list is a valid history."""
    problems: list[str] = []
    waiting: tuple[ToolCall, ...] = ()
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            given = [(result.id, result.name) for result in message.results]
            if not waiting or given != [(call.id, call.name) for call in waiting]:
                problems.append(f"message {index}: its results are not those of the calls before it")
            waiting = ()
            continue
        if waiting:
            problems.append(f"message {index}: {len(waiting)} calls before it have no results")
        waiting = message.calls if isinstance(message, AssistantMessage) else ()
        if len({call.id for call in waiting}) != len(waiting):
            problems.append(f"message {index}: two calls have one id")
    if waiting:
        problems.append(f"the last message: {len(waiting)} calls have no results")
    return problems


def _after_system(messages: Sequence[Message]) -> int:
    for place in range(len(messages), 0, -1):
        if isinstance(messages[place - 1], SystemMessage):
            return place
    return 0


class Transcript:
    """A run's own, growing history: it begins with what was said before, and only ever gets longer.

    Every step costs the same, however long the history is.

    Attributes:
        after_system: The place after the last system message; 0 where there is none.

    Example:
        >>> transcript = Transcript(History())
        >>> transcript.say(UserMessage.of("hello"))
        >>> len(transcript.history().messages)
        1
    """

    __slots__ = ("_messages", "_open", "after_system")

    def __init__(self, before: History) -> None:
        self._messages: list[Message] = list(before.messages)
        # What is added is never a system message, so this is found once.
        self.after_system = _after_system(before.messages)
        self._open: AssistantMessage | None = None

    @property
    def messages(self) -> Sequence[Message]:
        """Everything that the next request says; not for keeping, as it grows."""
        return self._messages

    @property
    def open_batch(self) -> AssistantMessage | None:
        """The response whose calls wait for their results."""
        return self._open

    def say(self, message: UserMessage | AssistantMessage) -> None:
        """Add a message that holds no calls for the application."""
        self._messages.append(message)

    def open(self, message: AssistantMessage) -> None:
        """Take a response with calls; it becomes part of the history together with its results."""
        self._open = message

    def close(self, results: Sequence[ToolResult]) -> None:
        """Add the open response and the results of all of its calls."""
        message = cast("AssistantMessage", self._open)
        self._messages += (message, ToolMessage(tuple(results)))
        self._open = None

    def drop(self) -> None:
        """Let go of an open response: whoever resumes its run has it from the conversation."""
        self._open = None

    def history(self) -> History:
        """Give the history up to here, without an open batch."""
        return valid_history(self._messages)


def valid_history(messages: Sequence[Message]) -> History:
    """Make a history whose invariant holds by construction: nothing is checked, the copy is all that it costs."""
    made = object.__new__(History)
    object.__setattr__(made, "messages", tuple(messages))
    return made
