"""`lamina serve`: what is served, and what is wrong with how it was asked for; `tests/e2e` serves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from returns.result import Failure

from lamina.adapters.mcp import Identity
from lamina.call import (
    Caller,
    Invocation,
    NoCaller,
    Outcome,
    Signal,
    Surface,
    ToolRejected,
    ToolSuccess,
    ToolUnknownOutcome,
)
from lamina.cli._calls import Closing, Watched
from lamina.cli._exits import UsageError
from lamina.cli._served import find_served
from lamina.cli._verify import find_verify
from lamina.effect import ConstructionError
from tests.unit.cli.commands import Commands, lamina

__all__ = ["lamina"]

TODO = "lamina.demo.todo:app"

MODULE = '''
from collections.abc import AsyncIterator
from typing import Never

import attrs
from lamina.approval import Approval, CallerApproval
from lamina.contract import Contract, MemoryHost, PlainHost
from lamina.effect import Try, layer, scoped, bind
from lamina.demo.todo import app as todo_app, contract as todo_contract, todo_host
from lamina.runtime import RuntimeBuilder
from lamina.tools import tool, Toolkit


@attrs.frozen
class Model:
    bought: int = 0


@attrs.frozen
class Bought:
    pass


@tool.simple(execution="readonly")
async def one() -> str:
    """One."""
    return "1"


@tool.simple(execution="readonly")
async def two() -> str:
    """Two."""
    return "2"


class ShopHost(MemoryHost[Model, Bought]):
    pass


async def run_shop() -> AsyncIterator[ShopHost]:
    async with ShopHost(Model(), lambda model, message: attrs.evolve(model, bought=model.bought + 1)) as host:
        yield host


class Rest:
    both = None


shop = Contract.of(Model, messages=Bought, name="shop").variant(Bought, "Buy one", name="buy")
bound = shop.bind(ShopHost(Model(), lambda model, message: attrs.evolve(model, bought=model.bought + 1)))
app = RuntimeBuilder().provide(scoped(run_shop))
with_two_hosts = RuntimeBuilder().provide(scoped(run_shop)).provide(todo_host())
without_host = RuntimeBuilder()
asking = Contract.of(Model, messages=Bought, name="asking").variant(Bought, "Buy one", name="buy", needs_approval=True)
with_approval = app.provide(bind(Approval).to(CallerApproval, life="request"))
Rest.both = one | two
number = 7
'''


@pytest.fixture
def module(lamina: Commands) -> str:
    name = f"served_{abs(hash(str(lamina.folder)))}"
    (lamina.folder / f"{name}.py").write_text(MODULE)
    return name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((TODO,), "The following arguments are required: --mcp."),
        ((TODO, "todo", "--mcp", "web"), "MCP is not spoken over 'web'."),
        ((TODO, "todo", "--mcp", ""), "MCP is not spoken over ''."),
        ((TODO, "todo", "--mcp", "a\x1b[2J"), "MCP is not spoken over 'a\ufffd[2J'."),
        ((TODO, "todo", "--mcp", "stdio", "--port", "0"), "--port says something over HTTP only."),
        ((TODO, "todo", "--mcp", "stdio", "--allow-host", "a"), "--allow-host says something over HTTP only."),
        (
            (TODO, "todo", "--mcp", "stdio", "--verify", "a:b"),
            "--verify says something over HTTP only.\n  Write --mcp http",
        ),
        ((TODO, "todo", "--mcp", "http", "--verify", "tokens"), "'tokens' is not MODULE:FUNCTION."),
        ((TODO, "todo", "--mcp", "http", "--verify", "no_such:verify"), "There is no module no_such."),
        (
            (TODO, "todo", "--mcp", "http", "--verify", "json:loads"),
            "json:loads is of type function, not an async func",
        ),
        (
            (TODO, "todo", "--mcp", "http", "--verify", "asyncio:wait_for"),
            "asyncio:wait_for does not take a token alone.",
        ),
        ((TODO, "todo", "--mcp", "http", "--verify", "json:verify"), "The module json has no verify."),
        ((TODO, "todo", "--mcp", "http", "--port", "65536"), "Argument --port: a whole number from 0 to 65535"),
        ((TODO, "todo", "--mcp", "http", "--port", "-1"), "Argument --port: a whole number from 0 to 65535"),
        ((TODO, "todo", "--mcp", "http", "--grace", "nan"), "Argument --grace: a number of seconds from 0 to 3600"),
        ((TODO, "todo", "--mcp", "http", "--host", "0.0.0.0"), "0.0.0.0 is reached from other machines"),
        ((TODO, "todo", "--mcp", "http", "--host", "::"), ":: is reached from other machines"),
        ((TODO, "todo", "--mcp", "http", "--host", "a\x1b\n.example"), "a\ufffd .example is reached from other"),
        ((TODO, "tood", "--mcp", "stdio"), f"{TODO} has no surface 'tood'.\n  There is todo."),
        ((TODO, "a\x1b[2J\n", "--mcp", "stdio"), f"{TODO} has no surface 'a\ufffd[2J'."),
        ((TODO, "Title", "--mcp", "stdio"), "lamina.demo.todo:Title is of type "),
        ((TODO, "--mcp", "stdio"), f"{TODO} has several surfaces: "),
        (("lamina.demo.todo:contract", "x", "--mcp", "stdio"), "lamina.demo.todo:contract is a contract, which is "),
        (("lamina.demo.todo:TASK", "--mcp", "stdio"), "lamina.demo.todo:TASK is of type str, not a RuntimeBuilder"),
        (("nonsense", "--mcp", "stdio"), "'nonsense' is not MODULE:APP."),
        (("no_such:app", "--mcp", "stdio"), "There is no module no_such."),
        (("there.py:app", "--mcp", "stdio"), "there.py is a file, not a module."),
        ((TODO, "todo", "--mcp", "stdio", "--log", "."), "The log cannot be written to ."),
    ],
)
def test_what_is_asked_for_wrongly_is_said_in_a_line(lamina: Commands, arguments: tuple[str, ...], said: str) -> None:
    ended = lamina("serve", *arguments)

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"lamina: {said}")
    assert "\x1b" not in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise SystemExit", "ended the program while it was imported"),
        ("import os; os.close(0) if False else 1 / 0", "could not be imported: ZeroDivisionError"),
        ("from lamina.runtime import RuntimeBuilder\napp = RuntimeBuilder()", "has nothing to serve"),
    ],
)
def test_a_module_that_breaks_is_said_in_a_line(lamina: Commands, text: str, said: str) -> None:
    name = f"breaks_{abs(hash((str(lamina.folder), text)))}"
    (lamina.folder / f"{name}.py").write_text(text)
    ended = lamina("serve", f"{name}:app", "--mcp", "stdio")

    assert ended.code == 2
    assert said in ended.err


def test_an_agent_a_contract_and_whatever_the_module_has_are_found(lamina: Commands, module: str) -> None:
    def found(target: str, name: str | None = None) -> tuple[str, str]:
        served = find_served(target, name)
        return served.name, served.kind

    assert found(TODO, "todo-assistant") == ("todo-assistant", "an agent")
    assert found(TODO, "todo") == ("todo", "a contract")
    assert found(TODO, "contract") == ("contract", "a contract")
    assert found("lamina.demo:app") == ("triage", "an agent")
    assert found(f"{module}:app", "Rest.both") == ("Rest.both", "a toolkit")
    assert found(f"{module}:app", "one") == ("one", "a toolkit")
    assert found(f"{module}:app", "bound") == ("bound", "a bound contract")
    assert found(f"{module}:bound") == ("bound", "a bound contract")
    assert found(f"{module}:one") == ("one", "a toolkit")
    with pytest.raises(UsageError, match="several surfaces: shop"):
        find_served(f"{module}:app", None)


async def test_each_of_them_becomes_a_surface_that_answers(lamina: Commands, module: str) -> None:
    async def called(target: str, name: str | None, tool: str) -> Outcome:
        async with find_served(target, name).opened() as surface:
            return await surface.invoke(tool, {}, Invocation.new(), NoCaller())

    bought = ToolSuccess({"capability": "buy", "tag": "Bought"})
    assert await called(f"{module}:app", "shop", "buy") == bought
    assert await called(f"{module}:with_two_hosts", "shop", "buy") == bought
    assert await called(f"{module}:bound", None, "buy") == bought
    assert await called(f"{module}:app", "Rest.both", "two") == ToolSuccess("2")
    assert await called(f"{module}:one", None, "one") == ToolSuccess("1")


async def test_a_contract_without_its_application_is_refused(lamina: Commands, module: str) -> None:
    for target, name in ((f"{module}:without_host", "shop"), (f"{module}:shop", None)):
        opening = find_served(target, name).opened()
        with pytest.raises(ConstructionError, match="MISSING a host"):
            await opening.__aenter__()


async def test_a_contract_whose_approval_asks_the_caller_is_served(lamina: Commands, module: str) -> None:
    async with find_served(f"{module}:with_approval", "asking").opened() as surface:
        assert [capability.asks for capability in surface.capabilities] == [frozenset({"elicit"})]
        denied = await surface.invoke("buy", {}, Invocation.new(), NoCaller())
        assert isinstance(denied, ToolRejected)
    opening = find_served(f"{module}:app", "asking").opened()
    with pytest.raises(ConstructionError) as caught:
        await opening.__aenter__()
    (problem,) = caught.value.problems
    assert problem.write == '| bind(Approval).to(CallerApproval, life="request")'


async def test_of_two_applications_the_one_with_the_contracts_model_is_taken(lamina: Commands, module: str) -> None:
    async with find_served(f"{module}:with_two_hosts", "todo_contract").opened() as surface:
        assert surface.name == "todo"
        made = await surface.invoke("create_todo", {"title": "milk"}, Invocation.new(), NoCaller())
        assert isinstance(made, ToolSuccess)


class Slow(Surface):
    """Waits for its abort, and tells what it came to."""

    name = "slow"

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    async def available(self) -> frozenset[str]:
        return frozenset({"slow"})

    async def invoke(self, name: str, payload: Any, invocation: Invocation, caller: Caller) -> Outcome:
        assert invocation.signal is not None
        self.begun.set()
        aborted = asyncio.create_task(invocation.signal.wait())
        going = asyncio.create_task(self.go.wait())
        await asyncio.wait({aborted, going}, return_when=asyncio.FIRST_COMPLETED)
        for task in (aborted, going):
            task.cancel()
        return ToolUnknownOutcome() if invocation.signal.aborted else ToolSuccess(name)


def _call(surface: Surface) -> asyncio.Task[Outcome]:
    return asyncio.create_task(surface.invoke("slow", {}, Invocation.new(signal=Signal()), NoCaller()))


async def test_calls_under_way_have_their_time_and_then_an_abort() -> None:
    slow = Slow()
    surface = Watched(slow)
    calling = _call(surface)
    await slow.begun.wait()

    assert surface.running == 1
    await Closing(surface, 0.01).settle(surface.idle)

    assert await calling == ToolUnknownOutcome()
    assert surface.running == 0
    refused = await surface.invoke("slow", {}, Invocation.new(), NoCaller())
    assert refused == ToolRejected("not-started", "The server is ending; the call was not started.")


async def test_a_call_that_ends_in_time_is_left_alone() -> None:
    slow = Slow()
    surface = Watched(slow)
    calling = _call(surface)
    await slow.begun.wait()
    settling = asyncio.create_task(Closing(surface, 3600).settle(surface.idle))
    slow.go.set()

    await settling
    assert await calling == ToolSuccess("slow")


@pytest.mark.parametrize("when", ["before", "meanwhile"])
async def test_haste_aborts_at_once(when: str) -> None:
    slow = Slow()
    surface = Watched(slow)
    closing = Closing(surface, 3600)
    calling = _call(surface)
    await slow.begun.wait()
    if when == "before":
        closing.hurry()
    settling = asyncio.create_task(closing.settle(surface.idle))
    await closing.begun.wait()
    closing.hurry()

    await settling
    assert await calling == ToolUnknownOutcome()


async def test_a_call_without_a_signal_can_be_aborted_all_the_same() -> None:
    slow = Slow()
    surface = Watched(slow)
    calling = asyncio.create_task(surface.invoke("slow", {}, Invocation.new(), NoCaller()))
    await slow.begun.wait()
    surface.abort()

    assert await calling == ToolUnknownOutcome()


async def test_everything_else_is_the_inner_surfaces_own() -> None:
    told: list[str] = []

    class Whole(Slow):
        def summary(self, name: str, outcome: ToolSuccess) -> str | None:
            return "a summary"

        async def complete(self, kind: Any, of: str, argument: str, begun: str) -> tuple[str, ...]:
            return (kind, of, argument, begun)

        def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
            listener()
            return lambda: told.append("ended")

    surface = Watched(Whole())
    surface.subscribe(lambda: told.append("changed"))()

    assert await surface.available() == {"slow"}
    assert surface.summary("slow", ToolSuccess(1)) == "a summary"
    assert await surface.complete("prompt", "a", "b", "c") == ("prompt", "a", "b", "c")
    assert isinstance(await surface.read("app://x"), Failure)
    assert isinstance(await surface.prompt("x", {}), Failure)
    assert told == ["changed", "ended"]


# --- who calls --------------------------------------------------------------------------------------------------------

TOKENS = """
import functools
from lamina.adapters.mcp import Identity

async def plain(token: str) -> str | None:
    return {"a": "ada", "e": ""}.get(token)

class Whole:
    async def __call__(self, token: str) -> Identity | None:
        return Identity(subject="ada", client="app") if token == "a" else None

    async def method(self, token: str) -> int:
        return 1

whole = Whole()
kept = functools.partial(lambda: None)

def not_async(token: str) -> str:
    return "ada"
"""


@pytest.fixture
def tokens(lamina: Commands, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"tokens_{abs(hash(str(lamina.folder)))}"
    (lamina.folder / f"{name}.py").write_text(TOKENS)
    monkeypatch.chdir(lamina.folder)
    return name


async def test_a_function_says_whom_a_token_speaks_for(tokens: str) -> None:
    plain, whole = find_verify(f"{tokens}:plain"), find_verify(f"{tokens}:whole")

    assert await plain("a") == Identity(subject="ada")
    assert await plain("b") is None
    assert await whole("a") == Identity(subject="ada", client="app")
    assert await whole("b") is None


@pytest.mark.parametrize(("name", "token"), [("plain", "e"), ("whole.method", "a")])
async def test_an_answer_that_is_none_of_these_lets_nobody_in(tokens: str, name: str, token: str) -> None:
    with pytest.raises(TypeError, match="answers an Identity, a subject or None"):
        await find_verify(f"{tokens}:{name}")(token)


@pytest.mark.parametrize("name", ["not_async", "kept", "Whole", "Identity"])
def test_what_is_no_async_function_is_refused_and_others_named(tokens: str, name: str) -> None:
    with pytest.raises(UsageError) as raised:
        find_verify(f"{tokens}:{name}")
    assert "not an async function" in str(raised.value)
    assert f"{tokens}:plain" in raised.value.hints[0]
