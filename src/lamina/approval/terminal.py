"""Approval by the person at the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TextIO

import anyio
from returns.result import Result, Success

from lamina.approval.port import Approval, ApprovalDecision, ApprovalRequest, ApprovalUnavailable, Approved, Denied

# A terminal gives one line at a time, of at most 4,096 bytes: less would take the rest of a line for an answer.
_LONGEST_ANSWER = 8_192


class TerminalApproval(Approval):
    """Shows a request on a terminal and waits for `y` or `n`.

    Where the input is no terminal, or ends, the answer is a denial: nobody said yes. Requests that come at once are
    asked one after the other. Waiting can be cancelled, and takes no thread.

    What was typed before a request was shown answers nothing: it is thrown away, also where a request is shown again.
    Between the request and the question that throws it away, so a program that types waits for the question.

    Args:
        show: Prints the request, without the question; by default a plain text on standard error.
        source: The terminal to read from; by default standard input.
        by: The name recorded with the decision.
        ask: Prints the question; by default `Allow it? [y/n]` on standard error.
    """

    def __init__(
        self,
        show: Callable[[ApprovalRequest], None] | None = None,
        source: TextIO | None = None,
        by: str = "terminal",
        ask: Callable[[], None] | None = None,
    ) -> None:
        self._show = show or show_request
        self._ask = ask or _ask
        self._source = source
        self._by = by
        self._turn = anyio.Lock()

    async def request(self, request: ApprovalRequest) -> Result[ApprovalDecision, ApprovalUnavailable]:
        """Ask until the answer is a yes, a no, or the end of the input."""
        source = self._source or sys.stdin
        # A process may have no standard input, or have closed it.
        if source is None or source.closed or not source.isatty():  # pyright: ignore[reportUnnecessaryComparison]
            return Success(Denied(self._by, "There is no terminal to ask at."))
        async with self._turn:
            while True:
                self._show(request)
                if not _forget_typed(source):
                    return Success(Denied(self._by, "The input ended without an answer."))
                self._ask()
                await anyio.wait_readable(source)
                try:
                    answer = os.read(source.fileno(), _LONGEST_ANSWER).decode(errors="replace")
                except OSError:  # the terminal was taken away
                    answer = ""
                match answer.strip().lower():
                    case "y" | "yes":
                        return Success(Approved(self._by))
                    case "n" | "no":
                        return Success(Denied(self._by, "The person at the terminal said no."))
                    case "" if not answer:
                        return Success(Denied(self._by, "The input ended without an answer."))
                    case _:
                        continue


def _forget_typed(source: TextIO) -> bool:
    """Throw away what was typed until now, half a line too; False where there is no terminal any more."""
    import termios  # not every system has it, and only a terminal needs it

    try:
        termios.tcflush(source.fileno(), termios.TCIFLUSH)
    except (termios.error, OSError):
        return False
    return True


def _ask() -> None:
    print("  Allow it? [y/n] ", end="", file=sys.stderr, flush=True)  # noqa: T201 - as below


def show_request(request: ApprovalRequest) -> None:
    """Print a request on standard error, without the question."""
    tool, summary = printable(request.tool), printable(request.summary)
    targets = "".join(f"\n    {printable(target)}" for target in request.targets)
    if request.more_targets:
        targets += "\n    and more than can be shown"
    print(  # noqa: T201 - asking at the terminal is what this module is for
        f"\n  {tool} asks for approval (risk: {request.risk})\n  {summary}{targets}", file=sys.stderr, flush=True
    )


def printable(text: str) -> str:
    """Replace control characters, so that a model's text cannot move the cursor over the question.

    Example:
        >>> printable("a\\x1b[2Jb")
        'a�[2Jb'
    """
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
