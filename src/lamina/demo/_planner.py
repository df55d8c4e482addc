"""The demo's deterministic model: it plans each turn anew from what the request says, and from nothing else.

It stands behind the same port as a real model, and is told results, refusals and limits in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

import attrs
import orjson
from returns.result import Failure

from lamina.demo._agent import Finding, Triage
from lamina.demo._folder import Listing, Matches
from lamina.demo._reading import clue_in, judge, mentioned_in, worst_first
from lamina.demo._ruled import RuledModel
from lamina.demo._tools import FileText
from lamina.model import AssistantMessage, Finish, ModelRequest, ResponsePart, Text, ToolCall, ToolMessage, Usage
from lamina.schema import JsonValue, codec

T = TypeVar("T")

MOST_READS = 8


@attrs.frozen
class _Done:
    """A call of an earlier turn, and what it came to."""

    tool: str
    arguments: Mapping[str, str]
    content: JsonValue
    failed: bool


class TriageModel(RuledModel):
    """Triages reports by rules."""

    def respond(self, request: ModelRequest) -> list[ResponsePart]:
        """Plan the turn anew from what the request says."""
        return _respond(request)


def _respond(request: ModelRequest) -> list[ResponsePart]:
    done = list(_history(request))
    offered = set[str]() if request.tool_choice == "none" else {tool.name for tool in request.tools}
    comment, calls = _plan(done, offered)
    asked, said = _tokens(request), sum(len(orjson.dumps(arguments)) for _, arguments in calls)
    if not calls:
        answer = _answer(done)
        text = orjson.dumps(codec(Triage).encode(answer).unwrap()).decode() if request.output else answer.summary
        return [Text(text), Finish("stop", Usage(asked, len(text) // 4 + 1))]
    turn = len(request.messages)
    parts: list[ResponsePart] = [Text(comment)]
    for index, (tool, arguments) in enumerate(calls, start=1):
        parts.append(ToolCall(f"call-{turn}-{index}", tool, orjson.dumps(arguments).decode()))
    return [*parts, Finish("tool-calls", Usage(asked, (len(comment) + said) // 4 + 1))]


def _plan(done: list[_Done], offered: set[str]) -> tuple[str, list[tuple[str, dict[str, str]]]]:
    """Give what is done next, with a comment; no calls where there is nothing more to do."""
    tried = {one.tool for one in done}
    if "list_files" in offered and "list_files" not in tried:
        return "Let me see which reports there are.", [("list_files", {})]
    seen = {one.arguments.get("name") for one in done if one.tool == "read_file"}
    unread = [name for name in _names(done)[:MOST_READS] if name not in seen]
    if "read_file" in offered and unread:
        return "I read them, all at once.", [("read_file", {"name": name}) for name in unread]
    texts = _texts(done)
    follow_up: list[tuple[str, dict[str, str]]] = []
    if "search_files" in offered and "search_files" not in tried and (clue := clue_in(texts)):
        follow_up.append(("search_files", {"text": clue}))
        if "read_file" in offered and (mentioned := mentioned_in(texts)) and mentioned not in seen:
            follow_up.append(("read_file", {"name": mentioned}))
    if follow_up:
        return "Who else has seen this error? And one report has an attachment.", follow_up
    if "write_label" in offered and "write_label" not in tried and texts:
        worst = _findings(texts)[0]
        return "That leaves the label of the worst one.", [
            ("write_label", {"name": worst.report, "label": worst.label})
        ]
    return "", []


def _answer(done: list[_Done]) -> Triage:
    texts = _texts(done)
    findings = _findings(texts)
    left = len(_names(done)) - len(texts)
    sentences = [
        f"{len(findings)} read; the worst is {findings[0].report}." if findings else "No report could be read."
    ]
    if left > 0:
        sentences.append(f"{left} were left unread.")
    if same := _same_cause(done):
        sentences.append(f"One cause: {', '.join(same)}.")
    written: list[str] = []
    for one in done:
        if one.tool == "write_label" and not one.failed:
            written.append(one.arguments["name"])
        elif one.tool == "write_label":
            sentences.append(f"No label was written: {_why(one.content)}")
    return Triage(" ".join(sentences)[:1_000], tuple(findings), tuple(written))


def _history(request: ModelRequest) -> Iterator[_Done]:
    calls: dict[str, ToolCall] = {}
    for message in request.messages:
        if isinstance(message, AssistantMessage):
            calls = {call.id: call for call in message.calls}
        elif isinstance(message, ToolMessage):
            for result in message.results:
                arguments = orjson.loads(calls[result.id].arguments)
                yield _Done(result.name, arguments, result.content, result.is_error)


def _names(done: list[_Done]) -> list[str]:
    return [file.name for listing in _results(done, "list_files", Listing) for file in listing.files]


def _texts(done: list[_Done]) -> dict[str, str]:
    return {file.name: file.text for file in _results(done, "read_file", FileText)}


def _results(done: list[_Done], tool: str, kind: type[T]) -> list[T]:
    """Read what a tool answered; a failure, or an answer that was cut for its length, is none."""
    decoded = [codec(kind).decode(one.content) for one in done if one.tool == tool and not one.failed]
    return [one.unwrap() for one in decoded if not isinstance(one, Failure)]


def _findings(texts: Mapping[str, str]) -> list[Finding]:
    return worst_first([judge(name, text) for name, text in texts.items()])


def _same_cause(done: list[_Done]) -> list[str]:
    found = [match.file for matches in _results(done, "search_files", Matches) for match in matches.matches]
    files = list(dict.fromkeys(found))
    return files[:4] if len(files) > 1 else []


def _why(content: JsonValue) -> str:
    if isinstance(content, Mapping):
        return str(content.get("message") or content.get("_tag") or "no reason was given")
    return "no reason was given"


def _tokens(request: ModelRequest) -> int:
    """Estimate what the request costs, at four characters a token, as a real tokenizer roughly would."""
    size = sum(len(tool.name) + len(tool.description) + len(orjson.dumps(tool.input_schema)) for tool in request.tools)
    for message in request.messages:
        if isinstance(message, ToolMessage):
            size += sum(len(orjson.dumps(result.content)) for result in message.results)
        elif isinstance(message, AssistantMessage):
            size += len(message.text) + sum(len(call.arguments) for call in message.calls)
        else:
            size += len(message.text)
    return size // 4 + 1
