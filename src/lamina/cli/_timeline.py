"""The timeline of a run, for people: turns, calls with their outcomes, tokens and time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from returns.result import Failure
from rich.text import Text

from lamina.call import ToolDefect
from lamina.cli._output import Ended, Observed
from lamina.cli._plain import arguments, compact, count, cut, pretty, printable, printable_lines, seconds
from lamina.cli._screen import Screen
from lamina.effect import message_of, tag_of
from lamina.engine import (
    ApprovalDecided,
    ApprovalRequested,
    BudgetWarning,
    EventsMissed,
    ModelStarted,
    OutputRejected,
    ReasoningDelta,
    RunCompleted,
    RunInterrupted,
    RunSuspended,
    Steered,
    SteeringAdmitted,
    SteeringDelivered,
    TextDelta,
    ToolCallDeclared,
    ToolCallFailed,
    ToolCallStarted,
    ToolCallSucceeded,
    TurnCompleted,
    TurnStarted,
    Waiting,
)
from lamina.schema import JsonValue

_MARKS = {"good": "✓", "bad": "✗", "not-run": "∅", "unknown": "?", "warning": "!", "asked": "»"}
_LONGEST_SAID = 2_000
_PLAIN_MARKS = {"good": "+", "bad": "x", "not-run": "-", "unknown": "?", "warning": "!", "asked": ">"}
_STYLES = {
    "good": "green",
    "bad": "red",
    "not-run": "yellow",
    "unknown": "magenta",
    "warning": "yellow",
    "asked": "cyan",
}


class Timeline:
    """Prints a run as it goes, in plain lines where there is no terminal.

    While somebody is asked for approval nothing is printed: what happens meanwhile comes after the answer.

    Args:
        screen: Where it goes.
        show_answer: Prints an answer that is no plain text; by default as JSON.
    """

    def __init__(self, screen: Screen, show_answer: Callable[[JsonValue], None] | None = None) -> None:
        self._screen = screen
        self._show_answer = show_answer or self._show_json
        self._marks = _MARKS if screen.is_unicode else _PLAIN_MARKS
        self._dot = " · " if screen.is_unicode else " - "
        self._turn_began: datetime | None = None
        self._comment = ""
        self._headed = True
        self._turn = 0
        self._declared: dict[str, ToolCallDeclared] = {}
        self._running: dict[str, datetime] = {}
        self._asked: dict[str, ApprovalRequested] = {}
        self._waiting: list[Observed] = []
        self._answer: JsonValue = None
        self._has_defect = False

    def begin(self, agent: str, model: str) -> None:
        """Name the agent and its model."""
        self._screen.line(Text.assemble((printable(agent), "bold"), (f"{self._dot}{printable(model)}", "dim")))
        self._screen.status("the application is opened")

    def event(self, event: Observed) -> None:
        """Show an event, or keep it until nobody is asked anything."""
        if isinstance(event, ApprovalRequested):
            self._asked[event.call or ""] = event
            self._screen.hold(True)
        if self._asked:
            self._waiting.append(event)
            decided = {one.call for one in self._waiting if isinstance(one, ApprovalDecided)}
            if not decided.issuperset(self._asked):
                return
            waiting, self._waiting = self._waiting, []
            for one in waiting:
                self._show(one)
            self._asked.clear()
            self._screen.hold(False)
        else:
            self._show(event)

    def note(self, text: str) -> None:
        """Say something about the run that is no event."""
        self._screen.line(Text(printable(text), style="dim"))

    def _show(self, event: Observed) -> None:
        match event:
            case TurnStarted():
                self._turn, self._turn_began, self._comment, self._headed = event.turn or 0, event.timestamp, "", False
                self._declared.clear()
            case ModelStarted():
                again = f" (attempt {event.attempt})" if event.attempt > 1 else ""
                self._screen.status(f"turn {self._turn}: the model is asked{again}")
            case TextDelta():
                self._comment += event.text
                self._screen.status(f"turn {self._turn}: {printable(self._comment[-200:])}")
            case ReasoningDelta():
                self._screen.status(f"turn {self._turn}: the model is thinking")
            case ToolCallDeclared():
                self._head(self._comment)
                self._declared[event.call or ""] = event
            case ApprovalDecided():
                self._decided(event)
            case ToolCallStarted():
                self._running[event.call or ""] = event.timestamp
                self._screen.status(f"turn {self._turn}: {self._names_running()}")
            case ToolCallSucceeded():
                self._call("good", event, self._without_echo(event.call, event.result))
            case ToolCallFailed():
                self._failed(event)
            case TurnCompleted():
                self._turn_completed(event)
            case SteeringAdmitted():
                by = "" if event.author is None else f" from {event.author}"
                self._note("asked", f"{event.kind}{by}: {cut(event.text, _LONGEST_SAID)}")
            case SteeringDelivered():
                self._screen.status(f"turn {event.turn}: the model is told what was said")
            case OutputRejected():
                self._note("warning", f"the answer does not fit, and is asked for again: {'; '.join(event.problems)}")
            case BudgetWarning():
                used, limit = f"{event.consumed:,.0f}", f"{event.limit_value:,.0f}"
                self._note("warning", f"{used} of {limit} {event.limit} are used")
            case RunCompleted():
                self._answer = event.output
            case EventsMissed():
                self._note("warning", f"{count(event.count, 'event')} came too fast to be shown")
            case _:
                pass

    def end(self, ended: Ended, elapsed: float, steps: Sequence[str] = ()) -> None:
        """Show the answer or the failure, what it took, and the commands that go on."""
        self._screen.status("")
        self._screen.hold(False)
        waiting, self._waiting = self._waiting, []  # the run ended while somebody was asked
        for event in waiting:
            self._show(event)
        failure = ended.failure() if isinstance(ended, Failure) else None
        report = ended.unwrap().report if failure is None else failure.report
        took = [count(report.turns, "turn"), count(report.tool_calls, "call")]
        took += [count(report.usage.total_tokens, "token"), seconds(elapsed)]
        self._screen.line()
        if failure is None:
            if isinstance(self._answer, str):
                for line in printable_lines(self._answer):
                    self._screen.prose(line)
            else:
                self._show_answer(self._answer)
            self._screen.line()
            exhausted = ended.unwrap().exhausted
            head, style = "completed", "bold green"
            if exhausted is not None:
                head, style = f"completed early: {exhausted} used up", "bold yellow"
        elif isinstance(failure.cause, RunInterrupted):
            head, style = "interrupted", "bold yellow"
        elif isinstance(failure.cause, Steered):
            self._note("asked", f"said to the run {failure.cause.run}, which has the session")
            head, style = "handed over: it goes into that run's next request", "bold green"
        elif isinstance(failure.cause, RunSuspended):
            for call in failure.cause.waiting:
                self._waits(call)
            head, style = f"suspended: {count(failure.cause.count, 'decision')} to be made", "bold yellow"
        else:
            self._screen.line(Text(f"{tag_of(failure.cause)}: {printable(message_of(failure.cause))}", style="red"))
            head, style = "failed", "bold red"
        self._screen.line(Text.assemble((head, style), (self._dot + self._dot.join(took), "dim")))
        if self._has_defect or (failure is not None and tag_of(failure.cause) == "RunDefect"):
            self._screen.line(Text("What broke, and where, is in the application's log: see --log FILE.", style="dim"))
        if steps:
            self._screen.line("To go on:")
            for step in steps:
                self._screen.raw(Text(f"  {printable(step)}", style="cyan"))

    def _waits(self, waiting: Waiting) -> None:
        asked = self._asked.get(waiting.call)
        risk = f" ({asked.risk} risk)" if asked else ""
        what = f"{waiting.tool} waits for a decision: {waiting.summary.rstrip('.')}{risk}"
        self._note("asked", what)

    def _head(self, comment: str) -> None:
        if self._headed:
            return
        self._headed = True
        head = f"turn {self._turn}"
        said = f"  {printable(comment.strip())}" if comment.strip() else ""
        self._screen.line(Text.assemble((head, "bold"), said), hanging=len(head) + 2)

    def _decided(self, event: ApprovalDecided) -> None:
        asked = self._asked.get(event.call or "")
        if event.decision == "approved":  # of a denial the call itself tells
            what = f"{asked.summary.rstrip('.')} ({asked.risk} risk)" if asked else event.tool
            self._note("asked", f"{what}: approved by {event.by}")

    def _failed(self, event: ToolCallFailed) -> None:
        match event.outcome:
            case "ToolRejected" | "ToolInvalidInput":
                kind, what = "not-run", event.message
            case "ToolUnknownOutcome":
                kind, what = "unknown", event.message
            case "ToolDefect":
                kind, what = "bad", event.message
                self._has_defect = self._has_defect or event.message == ToolDefect("raised").message
            case _:
                kind, what = "bad", f"{event.error_tag}: {event.message}"
        self._call(kind, event, what)

    def _call(self, kind: str, event: ToolCallSucceeded | ToolCallFailed, what: str) -> None:
        call = event.call or ""
        self._head(self._comment)
        began = self._running.pop(call, None)
        declared = self._declared.get(call)
        given = arguments(declared.parameters) if declared else ""
        line = Text.assemble(
            (f"  {self._marks[kind]} ", _STYLES[kind]),
            (printable(event.tool), "bold"),
            f"({cut(given, 60)})",
            (f"  {printable(what)}", "dim" if kind == "good" else _STYLES[kind]),
        )
        if kind == "good":
            self._screen.row(line, "" if began is None else seconds((event.timestamp - began).total_seconds()))
        else:
            self._screen.line(line, hanging=4)
        self._screen.status(f"turn {self._turn}: {self._names_running()}" if self._running else "")

    def _without_echo(self, call: str | None, result: JsonValue) -> str:
        """Leave out of a result what only repeats a parameter."""
        declared = self._declared.get(call or "")
        given = declared.parameters if declared else None
        if isinstance(result, Mapping) and isinstance(given, Mapping):
            left = {key: value for key, value in result.items() if key not in given or given[key] != value}
            result = left or "done"
        return compact(result)

    def _names_running(self) -> str:
        return ", ".join(printable(self._declared[call].tool) for call in self._running if call in self._declared)

    def _turn_completed(self, event: TurnCompleted) -> None:
        self._head("the answer" if event.finish_reason == "stop" else self._comment)
        took = seconds((event.timestamp - self._turn_began).total_seconds()) if self._turn_began else ""
        tokens = f"{event.input_tokens:,} tokens in, {event.output_tokens:,} out"
        self._screen.line(Text(f"  {tokens}{self._dot}{took}", style="dim"))

    def _note(self, kind: str, text: str) -> None:
        self._screen.line(Text(f"  {self._marks[kind]} {printable(text)}", style=_STYLES[kind]), hanging=4)

    def _show_json(self, value: JsonValue) -> None:
        for line in pretty(value, self._screen.width):
            self._screen.raw(line)
