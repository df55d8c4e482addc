"""The triage's answer as a table."""

from __future__ import annotations

from returns.result import Failure
from rich.text import Text

from lamina.cli._plain import pretty, printable
from lamina.cli._screen import Screen
from lamina.demo import Triage
from lamina.schema import JsonValue, codec

_STYLES = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "dim"}


def show_triage(screen: Screen, answer: JsonValue) -> None:
    """Print the summary, and a line for each finding; an answer that is none is printed as JSON."""
    decoded = codec(Triage).decode(answer)
    if isinstance(decoded, Failure):
        for line in pretty(answer, screen.width):
            screen.raw(line)
        return
    triage = decoded.unwrap()
    screen.line(printable(triage.summary))
    longest = min(max((len(finding.report) for finding in triage.findings), default=0), 34)
    for finding in triage.findings:
        labelled = " (labelled)" if finding.report in triage.labelled else ""
        screen.row(
            Text.assemble(
                (f"  {finding.severity:<9}", _STYLES[finding.severity]),
                f"{finding.label:<10}",
                (f"{printable(finding.report):<{longest}}", "bold"),
                (labelled, "green"),
                (f"  {printable(finding.reason)}", "dim"),
            )
        )
