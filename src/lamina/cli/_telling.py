"""A conversation's records as lines for a person."""

from __future__ import annotations

import json

from rich.text import Text

from lamina.call import ToolSuccess
from lamina.cli._plain import arguments, compact, cut, printable
from lamina.conversation import (
    ApprovalDecided,
    ApprovalRequested,
    CallStarted,
    ConversationCreated,
    ConversationForked,
    InputRecorded,
    Record,
    RepairAnnotated,
    ResponseDeclared,
    ResultSettled,
    RunBegan,
    RunEnded,
    RunResumed,
    RunSuspended,
    TurnAdvanced,
)
from lamina.effect import tag_of
from lamina.schema import JsonValue

_LONGEST = 2_000


def line_of(record: Record) -> Text:
    """Tell what a record says, in one line without any control character; a long text is cut."""
    match record:
        case ConversationCreated():
            return Text("the conversation begins", style="dim")
        case ConversationForked():
            return Text(f"forked from {printable(record.source)} at {record.seq}", style="dim")
        case RunBegan():
            return Text(f"the run {printable(record.run)} of {printable(record.agent)} begins", style="dim")
        case InputRecorded():
            who = record.author or record.kind
            return Text.assemble((f"{printable(who)}: ", "bold cyan"), _short(record.text))
        case ResponseDeclared():
            return _response(record)
        case ApprovalRequested():
            asked = record.request
            return Text(f"asked: {_short(asked.summary)} ({asked.risk} risk)", style="yellow")
        case ApprovalDecided():
            why = f": {_short(record.reason)}" if record.reason else ""
            style = "green" if record.decision == "approved" else "red"
            return Text(f"{record.decision} by {printable(record.by)}{why}", style=style)
        case CallStarted():
            return Text(f"the call {printable(record.key.call)} starts", style="dim")
        case ResultSettled():
            return _result(record)
        case TurnAdvanced():
            return Text(f"turn {record.turn} is done", style="dim")
        case RunSuspended():
            return Text("the run is suspended, and waits for somebody to decide", style="bold yellow")
        case RunResumed():
            return Text("the run goes on", style="dim")
        case RunEnded():
            why = f": {printable(record.error)}" if record.error else ""
            return Text(f"the run {record.ending}{why}", style="dim" if record.ending == "completed" else "red")
        case RepairAnnotated():
            return Text(f"repaired ({record.reason}): {_short('; '.join(record.details))}", style="magenta")
        case _:
            return Text(tag_of(record), style="dim")


def _response(record: ResponseDeclared) -> Text:
    line = Text.assemble(("the agent: ", "bold green"), _short(record.message.text))
    for call in record.message.calls:
        line.append(f" {printable(call.name)}", style="bold")
        line.append(f"({cut(_given(call.arguments), 60)})")
    return line


def _given(text: str) -> str:
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return printable(text)
    return arguments(value)


def _result(record: ResultSettled) -> Text:
    outcome, call = record.outcome, printable(record.key.call)
    if isinstance(outcome, ToolSuccess):
        return Text.assemble((f"{call} gave ", "dim"), _short(compact(outcome.value)))
    said = printable(outcome.message)
    return Text.assemble((f"{call} ended with {tag_of(outcome)}: ", "dim"), (_short(said), "red"))


def _short(text: str) -> str:
    return cut(printable(text), _LONGEST)
