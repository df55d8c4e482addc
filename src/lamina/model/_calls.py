"""The calls of one response: declared once, equal to what was streamed, and answered if the provider ran them."""

from __future__ import annotations

from io import StringIO

from lamina.model._ledger import Ledger
from lamina.model._measure import size_of_identifier, size_of_json, size_of_text
from lamina.model._parts import ToolCall, ToolResult
from lamina.model._protocol import Violation
from lamina.model._stream import ToolParamsDelta, ToolParamsEnd, ToolParamsStart


class _Params:
    __slots__ = ("complete", "name", "place", "text")

    def __init__(self, place: int, name: str) -> None:
        self.place = place
        self.name = name
        self.text = StringIO(newline="")
        self.complete = False


class Calls:
    """Holds calls, streamed arguments and results against each other (MODEL-003)."""

    __slots__ = ("_calls", "_ledger", "_params", "_unanswered")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._calls: dict[str, ToolCall] = {}
        # Streamed arguments whose call has not been declared yet.
        self._params: dict[str, _Params] = {}
        self._unanswered: set[str] = set()

    def declare(self, part: ToolCall) -> None:
        """Take a call; where its arguments were streamed, it has their place."""
        size = size_of_identifier(part.id) + size_of_identifier(part.name) + size_of_text(part.arguments)
        if part.id in self._calls:
            raise Violation("duplicate-call", "two calls have the same id")
        if part.executor == "provider":
            self._unanswered.add(part.id)
        elif part.executor != "application":
            raise Violation("malformed-part", "a call has no known executor")
        self._ledger.weigh(part.metadata)
        streamed = self._params.pop(part.id, None) if self._params else None
        if streamed is None:
            self._ledger.grow(size)
            self._ledger.place(part)
        else:
            _compare(part, streamed)
            self._ledger.parts[streamed.place] = part
        self._calls[part.id] = part

    def answer(self, part: ToolResult) -> None:
        """Take a result, which only a call that the provider runs may have."""
        call = self._calls.get(part.id) if type(part.id) is str else None
        if call is None:
            raise Violation("undeclared-result", "a result has no call before it")
        if part.name != call.name or part.executor != "provider" or call.executor != "provider":
            raise Violation("result-mismatch", "a result's name or executor is not its call's")
        if part.id not in self._unanswered:
            raise Violation("duplicate-result", "a call has two results")
        if type(part.is_error) is not bool:
            raise Violation("malformed-part", "a result does not say whether it is an error")
        self._unanswered.discard(part.id)
        self._ledger.grow(size_of_json(part.content))
        self._ledger.weigh(part.metadata)
        self._ledger.place(part)

    def start(self, part: ToolParamsStart) -> None:
        """Open a call's arguments and give the call its place in the message."""
        self._ledger.grow(size_of_identifier(part.id) + size_of_identifier(part.name))
        if part.id in self._params or part.id in self._calls:
            raise Violation("duplicate-call", "two calls have the same id")
        self._params[part.id] = _Params(self._ledger.place(None), part.name)

    def delta(self, part: ToolParamsDelta) -> None:
        """Let open arguments grow."""
        params = self._find(part.id)
        self._ledger.grow(size_of_text(part.text))
        params.text.write(part.text)

    def end(self, part: ToolParamsEnd) -> None:
        """Complete a call's arguments; the call itself has to follow."""
        self._find(part.id).complete = True

    def close(self) -> None:
        """Refuse a finish while arguments lack their call, or a provider's call its result."""
        if self._params:
            raise Violation("params-incomplete", "streamed arguments had no call at the finish")
        if self._unanswered:
            raise Violation("missing-result", "a call that the provider ran has no result")

    def _find(self, key: str) -> _Params:
        params = self._params.get(key) if type(key) is str else None
        if params is None or params.complete:
            raise Violation("pairing", "a delta or an end came for arguments that are not open")
        return params


def _compare(part: ToolCall, streamed: _Params) -> None:
    if not streamed.complete:
        raise Violation("params-incomplete", "a call was declared before its arguments were complete")
    if part.name != streamed.name or part.arguments != streamed.text.getvalue():
        raise Violation("params-mismatch", "a call is not what its streamed arguments were")
