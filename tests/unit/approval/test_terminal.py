"""Approval at a terminal, on a real pseudo-terminal: yes, no, nonsense, the end of the input, and no terminal."""

from __future__ import annotations

import asyncio
import io
import os
import pty
from collections.abc import Iterator
from typing import Any, TextIO

import attrs
import pytest

from lamina.approval import ApprovalRequest, Approved, Denied, TerminalApproval, show_request
from tests.unit.approval.requests import request


@attrs.define
class Terminal:
    """Both ends of a pseudo-terminal: the program reads `source`, the person types on `keyboard`."""

    keyboard: int
    source: TextIO
    shown: list[ApprovalRequest] = attrs.field(factory=list)

    def type(self, text: str) -> None:
        os.write(self.keyboard, text.encode())

    def approval(self, *answers: str) -> TerminalApproval:
        """Give an approver whose person types the next answer each time that the question is asked."""
        left = list(answers)

        def ask() -> None:
            if left:
                self.type(left.pop(0))

        return TerminalApproval(self.shown.append, self.source, "Ada", ask)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    keyboard, end = pty.openpty()
    with os.fdopen(end, "r") as source:
        yield Terminal(keyboard, source)
        os.close(keyboard)


async def ask(approval: TerminalApproval, **changes: Any) -> Any:
    return (await asyncio.wait_for(approval.request(request(**changes)), 30)).unwrap()


@pytest.mark.parametrize("answer", ["y\n", "yes\n", "  YES \n", "Y\n"])
async def test_a_yes_approves_and_names_the_person(terminal: Terminal, answer: str) -> None:
    assert await ask(terminal.approval(answer)) == Approved("Ada")


@pytest.mark.parametrize("answer", ["n\n", "NO\n"])
async def test_a_no_denies(terminal: Terminal, answer: str) -> None:
    assert await ask(terminal.approval(answer)) == Denied("Ada", "The person at the terminal said no.")


async def test_anything_else_is_asked_again(terminal: Terminal) -> None:
    approval = terminal.approval("maybe\n", "\n", "ye\n", "\xff\n", "yess\n", "y n\n", "y\n")

    assert await ask(approval) == Approved("Ada")
    assert len(terminal.shown) == 7


async def test_the_rest_of_a_long_line_is_no_answer(terminal: Terminal) -> None:
    # 1,024 and 2,048 bytes are where a reader with a small buffer would take the "y" for a line of its own.
    for length in (1_024, 2_048):
        approval = terminal.approval("x" * length + "y\n", "n\n")
        assert isinstance(await ask(approval), Denied)


async def test_the_end_of_the_input_denies(terminal: Terminal) -> None:
    assert await ask(terminal.approval("\x04")) == Denied("Ada", "The input ended without an answer.")


async def test_a_terminal_that_is_taken_away_denies() -> None:
    keyboard, end = pty.openpty()
    with os.fdopen(end, "r") as source:
        answer = await ask(TerminalApproval(lambda asked: os.close(keyboard), source))

    assert answer == Denied("terminal", "The input ended without an answer.")


async def test_without_a_terminal_nobody_is_asked() -> None:
    shown: list[object] = []
    approval = TerminalApproval(shown.append, io.StringIO("y\n"))

    assert await ask(approval) == Denied("terminal", "There is no terminal to ask at.")
    assert shown == []


@pytest.mark.parametrize("left", ["none", "closed"])
async def test_a_process_without_standard_input_denies(left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO("y\n")
    closed.close()
    monkeypatch.setattr("sys.stdin", None if left == "none" else closed)

    assert await ask(TerminalApproval(lambda asked: None)) == Denied("terminal", "There is no terminal to ask at.")


async def test_requests_at_once_are_asked_one_after_the_other(terminal: Terminal) -> None:
    approval = terminal.approval("y\n", "n\n", "y\n")
    answers = await asyncio.gather(*(ask(approval, id=str(number)) for number in range(3)))

    assert [isinstance(answer, Approved) for answer in answers] == [True, False, True]
    assert [asked.id for asked in terminal.shown] == ["0", "1", "2"]


async def test_waiting_can_be_cancelled_and_the_next_request_is_asked(terminal: Terminal) -> None:
    asked: asyncio.Queue[None] = asyncio.Queue()
    approval = TerminalApproval(terminal.shown.append, terminal.source, "Ada", lambda: asked.put_nowait(None))
    waiting = asyncio.create_task(approval.request(request()))
    await asked.get()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    terminal.type("y\n")  # it was for the question that is gone
    again = asyncio.create_task(ask(approval))
    await asked.get()
    terminal.type("n\n")

    assert isinstance(await again, Denied)


@pytest.mark.parametrize("typed", ["y\n", "y\ny\nyes\n", "y"], ids=["a line", "several lines", "half a line"])
async def test_what_was_typed_before_the_request_was_shown_approves_nothing(terminal: Terminal, typed: str) -> None:
    terminal.type(typed)

    # The Enter of somebody who had typed a "y" before it ends an empty line, which is no answer.
    answer = await ask(terminal.approval("\n", "n\n"))

    assert answer == Denied("Ada", "The person at the terminal said no.")
    assert len(terminal.shown) == 2


async def test_what_is_typed_while_the_request_is_being_shown_approves_nothing(terminal: Terminal) -> None:
    def ask_and_refuse() -> None:
        terminal.type("n\n")

    approval = TerminalApproval(lambda asked: terminal.type("y\n"), terminal.source, "Ada", ask_and_refuse)

    assert isinstance(await ask(approval), Denied)


async def test_what_follows_an_answer_in_one_go_answers_no_other_question(terminal: Terminal) -> None:
    approval = terminal.approval("y\ny\n", "n\n", "what\ny\n", "n\n")
    answers = [await ask(approval, id=str(number)) for number in range(3)]

    assert [isinstance(answer, Approved) for answer in answers] == [True, False, False]
    assert [asked.id for asked in terminal.shown] == ["0", "1", "2", "2"]


def test_the_question_names_everything_and_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    show_request(request(summary="Delete\x1b[2J a\nfile", targets=("a\rb", "c"), tool="del", risk="high"))

    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (
        "\n  del asks for approval (risk: high)\n  Delete\N{REPLACEMENT CHARACTER}[2J a\N{REPLACEMENT CHARACTER}file"
        "\n    a\N{REPLACEMENT CHARACTER}b\n    c\n"
    )


async def test_the_question_comes_last(terminal: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    terminal.type("y\n")
    asking = asyncio.create_task(TerminalApproval(source=terminal.source).request(request()))
    shown = ""
    async with asyncio.timeout(30):
        while not shown.endswith("\n  Allow it? [y/n] "):
            await asyncio.sleep(0)
            shown += capsys.readouterr().err
        terminal.type("n\n")

        assert isinstance((await asking).unwrap(), Denied)


def test_the_question_says_that_there_are_more_targets(capsys: pytest.CaptureFixture[str]) -> None:
    show_request(request(more_targets=True))

    assert "labels/a\n    and more than can be shown\n" in capsys.readouterr().err
