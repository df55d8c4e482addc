"""The services of tool calls: seeds that the caller brings, and resources that live for one call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Never

import attrs
import pytest
from returns.result import Result, Success

from lamina.approval import Approval, ApprovalDecision, ApprovalRequest, Approved, Denied
from lamina.call import Allowed, Authorization, AuthorizationAnswer, AuthorizationRequest, NotAllowed
from lamina.effect import ConstructionError, Try, bind, layer, scoped, seed, tagged
from lamina.runtime import RuntimeBuilder, build
from lamina.testing import ScriptedModel, call_tool, say
from lamina.tools import tool
from tests.unit.engine.world import Word, agent_with, told_in, until


@attrs.frozen
class Principal:
    name: str


@tagged("It is not yours.")
class NotYours:
    pass


@tool(execution="readonly")
async def who(call: Word, ok: Try[Never], principal: Principal) -> str:
    """Say who asks."""
    await asyncio.sleep(0)
    return principal.name


def model() -> ScriptedModel:
    return ScriptedModel(call_tool("who", text="x") & call_tool("who", text="y"), say("done"))


async def test_a_tool_sees_the_principal_that_the_run_was_started_with() -> None:
    asked = model()
    binding = agent_with(who).on(asked)
    builder: Any = RuntimeBuilder().agent(binding)
    async with build(builder, seeds=seed(Principal)) as opened:
        await opened.given(bind(Principal).value(Principal("Ada"))).run(binding, "go")
    assert [each.content for each in told_in(asked.requests[-1])] == ["Ada", "Ada"]


async def test_principals_of_runs_at_once_do_not_meet() -> None:
    models = {name: model() for name in ("Ada", "Bo", "Cy")}
    bindings = {name: agent_with(who).on(asked) for name, asked in models.items()}
    async with build(layer(list), seeds=seed(Principal)) as opened:  # type: ignore[arg-type, var-annotated]
        runtimes = {name: opened.given(bind(Principal).value(Principal(name))) for name in models}
        await asyncio.gather(*(runtimes[name].run(bindings[name], "go") for name in models))

    for name, asked in models.items():
        assert [each.content for each in told_in(asked.requests[-1])] == [name, name]


async def test_without_its_seed_an_agent_is_refused() -> None:
    binding: Any = agent_with(who).on(model())
    with pytest.raises(ConstructionError, match="MISSING Principal"):
        build(RuntimeBuilder().agent(binding))
    async with build(RuntimeBuilder().agent(binding), seeds=seed(Principal)) as opened:
        with pytest.raises(ConstructionError, match="MISSING Principal"):
            opened.given(bind(NotYours).value(NotYours()))  # type: ignore[arg-type]


class ForThePrincipal(Authorization, Approval):
    def __init__(self, principal: Principal) -> None:
        self.principal = principal

    async def authorize(self, request: AuthorizationRequest) -> AuthorizationAnswer:
        return Allowed() if self.principal.name != "Mallory" else NotAllowed("Not you.")

    async def request(self, request: ApprovalRequest) -> Result[ApprovalDecision, Any]:
        return Success(Approved(self.principal.name) if self.principal.name == "Ada" else Denied(self.principal.name))


@tool(needs_approval=True)
async def pay(call: Word, ok: Try[Never]) -> str:
    """Pay."""
    return "paid"


@pytest.mark.parametrize(("name", "reason"), [("Ada", None), ("Bo", "denied"), ("Mallory", "unauthorized")])
async def test_approval_and_authorization_may_live_for_a_request_and_see_the_principal(
    name: str, reason: str | None
) -> None:
    asked = ScriptedModel(call_tool("pay", text="x"), say("done"))
    binding = agent_with(pay).on(asked)
    services = bind(Authorization).to(ForThePrincipal, life="request") | bind(Approval).to(
        ForThePrincipal, life="request"
    )
    builder: Any = RuntimeBuilder().provide(services).agent(binding)
    async with build(builder, seeds=seed(Principal)) as opened:
        result = await opened.given(bind(Principal).value(Principal(name))).run(binding, "go")
    report = result.failure().report if reason == "denied" else result.unwrap().report
    content = [message for message in report.history.messages if hasattr(message, "results")][0].results[0].content
    assert (content if reason is None else content["reason"]) == (reason or "paid")


class Transaction:
    """Commits what a call did, unless the call failed."""

    log: list[str] = []

    def __init__(self) -> None:
        self.done: list[str] = []


async def transaction() -> AsyncIterator[Transaction]:
    own = Transaction()
    Transaction.log.append("begin")
    try:
        yield own
    except BaseException as error:
        kind = "cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__name__
        Transaction.log.append(f"rollback {kind}")
        raise
    Transaction.log.append(f"commit {','.join(own.done)}")


@tool()
async def save(call: Word, ok: Try[NotYours], own: Transaction) -> str:
    """Save a word."""
    own.done.append(call.text)
    if call.text == "mine":
        return call.text
    if call.text == "stuck":
        await asyncio.Event().wait()
    if call.text == "broken":
        raise ValueError("canary")
    return ok.fail(NotYours())


@pytest.mark.parametrize(
    ("text", "log"),
    [
        ("mine", ["begin", "commit mine"]),
        ("yours", ["begin", "rollback RolledBack"]),
        ("broken", ["begin", "rollback ValueError"]),
    ],
)
async def test_a_transaction_is_one_calls_and_rolls_back_on_every_failure(text: str, log: list[str]) -> None:
    Transaction.log.clear()
    binding = agent_with(save).on(ScriptedModel(call_tool("save", text=text), say("done")))
    async with build(RuntimeBuilder().provide(scoped(transaction, life="request")).agent(binding)) as rt:
        assert (await rt.run(binding, "go")).unwrap().output == "done"
    assert Transaction.log == log


async def test_calls_of_one_batch_have_a_transaction_each() -> None:
    Transaction.log.clear()
    turn = call_tool("save", text="mine") & call_tool("save", text="yours") & call_tool("save", text="mine")
    binding = agent_with(save).on(ScriptedModel(turn, say("done")))
    async with build(RuntimeBuilder().provide(scoped(transaction, life="request")).agent(binding)) as rt:
        await rt.run(binding, "go")
    assert sorted(Transaction.log) == ["begin"] * 3 + ["commit mine"] * 2 + ["rollback RolledBack"]


@pytest.mark.parametrize("calls", [1, 2])
async def test_a_cancelled_call_rolls_back_before_the_run_has_ended(calls: int) -> None:
    Transaction.log.clear()
    turn = call_tool("save", text="stuck")
    binding = agent_with(save).on(ScriptedModel(turn if calls == 1 else turn & call_tool("save", text="stuck")))
    builder = RuntimeBuilder().provide(scoped(transaction, life="request")).agent(binding)
    async with build(builder) as rt, rt.start(binding, "go") as run:
        await until(lambda: len(Transaction.log) == calls)
        run.interrupt()
        await run.result()
        assert Transaction.log == ["begin"] * calls + ["rollback cancelled"] * calls


async def test_a_resource_that_cannot_be_opened_is_a_defect_of_that_call() -> None:
    async def broken() -> AsyncIterator[Transaction]:
        raise OSError("canary")
        yield Transaction()

    asked = ScriptedModel(call_tool("save", text="mine"), say("done"))
    binding = agent_with(save).on(asked)
    async with build(RuntimeBuilder().provide(scoped(broken, life="request")).agent(binding)) as rt:
        assert (await rt.run(binding, "go")).unwrap().output == "done"
    assert told_in(asked.requests[-1])[0].content["_tag"] == "ToolDefect"
    assert "canary" not in str(asked.requests)


async def test_a_resource_that_breaks_when_it_is_left_takes_the_result_with_it() -> None:
    async def sour() -> AsyncIterator[Transaction]:
        yield Transaction()
        raise OSError("canary: the commit failed")

    asked = ScriptedModel(call_tool("save", text="mine"), say("done"))
    binding = agent_with(save).on(asked)
    async with build(RuntimeBuilder().provide(scoped(sour, life="request")).agent(binding)) as rt:
        await rt.run(binding, "go")
    assert told_in(asked.requests[-1])[0].content["_tag"] == "ToolDefect", "what was not committed is no success"
