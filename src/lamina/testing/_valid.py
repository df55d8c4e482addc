"""What every provider demands of a request: each call has its result, at its place (RUN-005)."""

from __future__ import annotations

from lamina.model import AssistantMessage, ModelRequest, ToolCall, ToolMessage


def request_problem(request: ModelRequest) -> str | None:
    """Say why a provider would refuse a request, or nothing.

    Use it to hold a history to what real providers hold it to; the scripted models do so with every request.

    Args:
        request: What a model would be asked.

    Returns:
        One sentence, or `None`.

    Example:
        >>> from lamina.model import UserMessage
        >>> request_problem(ModelRequest(()))
        'the request has no message'
        >>> lost = AssistantMessage((ToolCall("1", "add", "{}"),))
        >>> request_problem(ModelRequest((UserMessage.of("add"), lost, UserMessage.of("well?"))))
        'the calls of message 1 have no results after them'
    """
    messages = request.messages
    if not messages:
        return "the request has no message"
    names = [tool.name for tool in request.tools]
    if len(set(names)) < len(names):
        return "two tools have the same name"
    if request.tool_choice == "required" and not names:
        return "a tool is required, but there is none"
    open_calls: tuple[ToolCall, ...] = ()
    for place, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if not open_calls:
                return f"message {place} holds results without calls before it"
            asked = [(call.id, call.name) for call in open_calls]
            if [(result.id, result.name) for result in message.results] != asked:
                return f"the results of message {place} are not those of the calls before it, in their order"
            open_calls = ()
        elif open_calls:
            return f"the calls of message {place - 1} have no results after them"
        elif isinstance(message, AssistantMessage):
            open_calls = message.calls
            if len({call.id for call in open_calls}) < len(open_calls):
                return f"two calls of message {place} have the same id"
    return "the calls of the last message have no results" if open_calls else None
