"""A shop's clerk who may give money back, if somebody agrees: the example of runs that wait for a decision.

`lamina run lamina.demo.refunds:app "Refund order 1042." --session ada` suspends; whoever decides may sit at another
terminal, and the run goes on in a third. What was paid stands in `refunds.txt` of the current directory.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from pathlib import Path

import attrs
import orjson
from returns.result import Failure, Result, Success

from lamina.agent import Agent, AgentPolicy
from lamina.approval import Approval, Ask, DeferredApproval
from lamina.demo._ruled import RuledModel
from lamina.effect import Try, bind, tagged
from lamina.model import (
    Finish,
    LanguageModel,
    ModelRequest,
    ResponsePart,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
)
from lamina.runtime import RuntimeBuilder
from lamina.tools import tool

__all__ = ["Clerk", "FileTill", "LookUp", "NoSuchOrder", "NotPaid", "Refund", "Till", "app", "clerk"]

_PRICES = {"1042": 1_250, "1043": 480}


@tagged("There is no order {order}.")
class NoSuchOrder:
    """Nobody ordered that."""

    order: str


@tagged("The refund of order {order} could not be written down.")
class NotPaid:
    """The till takes nothing."""

    order: str


class Till(ABC):
    """Gives money back."""

    @abstractmethod
    def price(self, order: str) -> int | None:
        """Give what was paid for an order, in cents; None where nobody ordered it."""

    @abstractmethod
    def pay(self, order: str, cents: int) -> Result[None, NotPaid]:
        """Give an amount back."""


class FileTill(Till):
    """Writes each refund into `refunds.txt`, a line for each."""

    def __init__(self) -> None:
        self._file = Path.cwd() / "refunds.txt"

    def price(self, order: str) -> int | None:
        """Look an order up; the shop has two."""
        return _PRICES.get(order)

    def pay(self, order: str, cents: int) -> Result[None, NotPaid]:
        """Append a line, and wait until it is on the disk."""
        try:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(f"order {order}: {cents} cents\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            return Failure(NotPaid(order))
        return Success(None)


@attrs.frozen
class LookUp:
    """Look one order up."""

    order: str


@attrs.frozen
class Refund:
    """Give the money for an order back."""

    order: str
    cents: int


@tool(execution="readonly")
async def look_up(call: LookUp, ok: Try[NoSuchOrder], till: Till) -> int:
    """Say what was paid for an order, in cents."""
    price = till.price(call.order)
    if price is None:
        ok.fail(NoSuchOrder(call.order))
    return price


@tool(
    execution="uncertain",
    needs_approval=True,
    approval=Ask[Refund](
        summary=lambda call: f"Refund {call.cents / 100:.2f} for order {call.order}",
        targets=lambda call: [f"order {call.order}"],
        risk="high",
        recoverable=True,
    ),
)
async def refund(call: Refund, ok: Try[NotPaid], till: Till) -> str:
    """Give the money for an order back."""
    ok(till.pay(call.order, call.cents))
    return f"{call.cents / 100:.2f} for order {call.order}"


class Clerk(RuledModel):
    """Does what the last input asks."""

    def respond(self, request: ModelRequest) -> list[ResponsePart]:
        """Look up, refund, and say what became of it."""
        return _respond(request)


def _respond(request: ModelRequest) -> list[ResponsePart]:
    asked, since, before = "", list[ToolResult](), list[ToolResult]()
    for message in request.messages:
        if isinstance(message, UserMessage):
            asked, before, since = message.text, [*before, *since], []
        elif isinstance(message, ToolMessage):
            since += message.results
    usage = Usage(sum(len(message.text) for message in request.messages if isinstance(message, UserMessage)), 20)
    calls = len(before) + len(since)
    order = re.search(r"\d+", asked)
    if order is None:
        paid = [str(each.content) for each in before if each.name == "refund" and not each.is_error]
        return [Text(f"Refunded so far: {', '.join(paid) or 'nothing'}."), Finish("stop", usage)]
    if not since:
        arguments = orjson.dumps({"order": order[0]}).decode()
        return [ToolCall(f"call-{calls + 1}", "look_up", arguments), Finish("tool-calls", usage)]
    last = since[-1]
    if last.name == "look_up" and isinstance(last.content, int) and not last.is_error:
        arguments = orjson.dumps({"order": order[0], "cents": last.content}).decode()
        return [
            Text(f"Order {order[0]} was {last.content / 100:.2f}."),
            ToolCall(f"call-{calls + 1}", "refund", arguments),
            Finish("tool-calls", usage),
        ]
    said = "There is no such order." if last.name == "look_up" else "That was not allowed, so nothing was refunded."
    return [Text(said if last.is_error else f"Done: {last.content}."), Finish("stop", usage)]


clerk = Agent(
    "clerk",
    instructions="You refund orders. Look the order up, then refund what was paid for it.",
    policy=AgentPolicy(max_turns=6, max_tool_calls=6, max_duration=60, tool_concurrency=1, run_status="off"),
    toolkit=look_up | refund,
)
"""Refunds an order, where somebody agrees."""

app = (
    RuntimeBuilder()
    .provide(bind(Till).to(FileTill))
    .provide(bind(Approval).value(DeferredApproval()))
    .agent(clerk.on(bind(LanguageModel).to(Clerk)))
)
"""The clerk on a deterministic model; a refund waits for somebody's decision, in whatever process that is made."""
