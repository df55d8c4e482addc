"""A toolkit as a surface: one call goes through the stages of an agent's, inline, and is told honestly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Never

import attrs
import pytest

from lamina.approval import (
    Approval,
    ApprovalRequest,
    Approved,
    Ask,
    CallerApproval,
    DeferredApproval,
    Denied,
    ScriptedApproval,
)
from lamina.audit import Audit, MemoryAudit
from lamina.call import (
    Allowed,
    Authorization,
    AuthorizationAnswer,
    AuthorizationRequest,
    Caller,
    Contents,
    Invocation,
    NoCaller,
    NotAllowed,
    Signal,
    TextContent,
    ToolDefect,
    ToolFailure,
    ToolInvalidInput,
    ToolRejected,
    ToolSuccess,
    ToolUnknownOutcome,
)
from lamina.effect import Clock, ConstructionError, Layer, Try, bind, empty_layer, layer, scoped, seed, tagged
from lamina.redaction import Secrets
from lamina.runtime import Changes, build
from lamina.testing import VirtualClock
from lamina.tools import ConcurrencyGroup, tool
from tests.unit.callers import Asked, RecordingCaller


@attrs.frozen
class Word:
    text: str


@tagged("There is no word {text}.")
class NoSuchWord:
    text: str


class Shop:
    def __init__(self) -> None:
        self.open = True
        self.log: list[str] = []


@tool(title="Say it again", execution="readonly")
async def echo(call: Word, ok: Try[Never]) -> str:
    """Say it again."""
    return call.text


@tool()
async def look_up(call: Word, ok: Try[NoSuchWord], shop: Shop) -> str:
    """Look a word up."""
    shop.log.append(call.text)
    return ok.fail(NoSuchWord(call.text))


@tool()
async def boom(call: Word, ok: Try[Never]) -> str:
    raise ValueError(f"secret {call.text}")


@tool()
async def wrong(call: Word, ok: Try[Never]) -> int:
    return "no number"  # type: ignore[return-value]


def is_open(shop: Shop) -> bool:
    return shop.open


@tool(available=is_open)
async def sell(call: Word, ok: Try[Never], shop: Shop) -> str:
    """Sell something."""
    shop.log.append(call.text)
    return call.text


@tool(needs_approval=True, approval=Ask[Word](summary=lambda word: f"Write {word.text}"))
async def write(call: Word, ok: Try[Never]) -> str:
    """Write a word."""
    return f"wrote {call.text}"


@tool(execution="idempotent")
async def tell(call: Word, ok: Try[Never], caller: Caller) -> str:
    """Tell the caller."""
    await caller.progress(1, 2, call.text)
    await caller.log("info", call.text)
    return ",".join(sorted(caller.features))


def invocation(signal: Signal | None = None) -> Invocation:
    return Invocation(id="i-1", transport="test", signal=signal)


NOBODY = NoCaller()


async def call(surface: Any, name: str, payload: Any = None, **more: Any) -> Any:
    return await surface.invoke(name, payload, invocation(**more), NOBODY)


async def test_what_a_surface_says_of_itself() -> None:
    async with build(layer(Shop)) as rt:
        surface = rt.surface(echo | sell | boom, name="words", version="2")
    assert (surface.name, surface.version) == ("words", "2")
    said, sold, broken = surface.capabilities
    assert (said.name, said.title, said.description) == ("echo", "Say it again", "Say it again.")
    assert said.input_schema["required"] == ["text"]
    assert said.output_schema == {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "string"}
    assert (said.execution, broken.execution) == ("readonly", "uncertain")
    assert (said.conditional, sold.conditional) == (False, True)
    assert surface.prompts == surface.resources == surface.templates == ()


async def test_each_outcome_of_a_call() -> None:
    async with build(layer(Shop)) as rt:
        surface = rt.surface(echo | look_up | boom | wrong | sell)
        assert await call(surface, "echo", {"text": "tea"}) == ToolSuccess("tea")
        assert await call(surface, "look_up", {"text": "tea"}) == ToolFailure(
            NoSuchWord("tea"), {"_tag": "NoSuchWord", "text": "tea"}
        )
        assert await call(surface, "ecko", {"text": "tea"}) == ToolRejected("no-such-tool", nearest=("echo",))
        assert await call(surface, "echo", {"txt": "tea"}) == ToolInvalidInput(
            ("$.text: missing", "$: an undeclared key; perhaps text was meant")
        )
        for payload in (None, [], "tea", 5):
            assert isinstance(await call(surface, "echo", payload), ToolInvalidInput)
        assert await call(surface, "boom", {"text": "x"}) == ToolDefect("raised")
        assert await call(surface, "wrong", {"text": "x"}) == ToolDefect("output")


async def test_unavailable_comes_before_decoding_and_leaves_the_list() -> None:
    shop = Shop()
    changes = Changes()
    async with build(bind(Shop).value(shop)) as rt:
        surface = rt.surface(echo | sell, changes=changes)
        heard: list[str] = []
        stop = surface.subscribe(lambda: heard.append("changed"))
        assert await surface.available() == {"echo", "sell"}
        shop.open = False
        changes.announce()
        assert await surface.available() == {"echo"}
        assert await call(surface, "sell", {"nonsense": 1}) == ToolRejected("unavailable")
        stop()
        stop()
        changes.announce()
        assert heard == ["changed"]
        assert changes.listeners == 0


async def test_without_changes_nothing_is_told() -> None:
    async with build(empty_layer()) as rt:
        stop = rt.surface(echo).subscribe(lambda: pytest.fail("nothing changes"))
        stop()


class NoSelling(Authorization):
    def __init__(self) -> None:
        self.asked: list[AuthorizationRequest] = []

    async def authorize(self, request: AuthorizationRequest) -> AuthorizationAnswer:
        self.asked.append(request)
        return NotAllowed("Not today.") if request.tool == "sell" else Allowed()


async def test_the_hosts_policy_is_asked_with_decoded_input() -> None:
    policy = NoSelling()
    async with build(layer(Shop) | bind(Authorization).value(policy)) as rt:
        surface = rt.surface(echo | sell, name="words")
        assert await call(surface, "sell", {"text": "tea"}) == ToolRejected("unauthorized", "Not today.")
        assert await call(surface, "echo", {"text": "tea"}) == ToolSuccess("tea")
        assert all(each.authorized for each in surface.capabilities)
    assert [(each.agent, each.tool, each.input) for each in policy.asked] == [
        ("words", "sell", Word("tea")),
        ("words", "echo", Word("tea")),
    ]


async def test_approval_says_yes_or_no_and_what_breaks_says_no() -> None:
    class Judge(Approval):
        answers: list[Any]

        async def request(self, request: ApprovalRequest) -> Any:
            asked.append(request)
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

    asked: list[ApprovalRequest] = []
    from returns.result import Success

    answers: list[Any] = [
        Success(Approved("me")),
        Success(Denied("me", "No.")),
        Success(Denied("me")),
        ValueError("secret"),
        "yes",
    ]
    async with build(bind(Approval).value(Judge())) as rt:
        surface = rt.surface(write, name="words")
        assert surface.capabilities[0].needs_approval
        assert await call(surface, "write", {"text": "tea"}) == ToolSuccess("wrote tea")
        assert await call(surface, "write", {"text": "tea"}) == ToolRejected("denied", "The call was denied: No.")
        for _ in range(3):
            assert await call(surface, "write", {"text": "tea"}) == ToolRejected("denied")
    request = asked[0]
    assert (request.id, request.agent, request.summary) == ("approval:i-1/1/call", "words", "Write tea")
    assert request.preview == {"text": "tea"}


async def test_an_approval_that_nobody_gives_in_time_expires() -> None:
    @tool(needs_approval=True, approval=Ask[Word](expires=5))
    async def publish(call: Word, ok: Try[Never]) -> str:
        return "out"

    class Silent(Approval):
        async def request(self, request: ApprovalRequest) -> Any:
            waiting.set()
            await asyncio.Event().wait()

    waiting = asyncio.Event()
    clock = VirtualClock()
    async with build(bind(Approval).value(Silent()) | bind(Clock).value(clock)) as rt:
        surface = rt.surface(publish)
        task = asyncio.create_task(call(surface, "publish", {"text": "tea"}))
        await waiting.wait()
        await clock.advance(6)
        assert await task == ToolRejected("expired")


async def test_an_ask_that_breaks_is_a_defect_and_nothing_runs() -> None:
    def bad(word: Word) -> str:
        raise ValueError("secret")

    @tool(needs_approval=True, approval=Ask[Word](summary=bad))
    async def publish(call: Word, ok: Try[Never]) -> str:
        pytest.fail("nobody approved")

    async with build(bind(Approval).value(ScriptedApproval(()))) as rt:
        assert await call(rt.surface(publish), "publish", {"text": "tea"}) == ToolDefect("raised")


def test_decisions_that_come_later_are_refused_at_once() -> None:
    async def main() -> None:
        async with build(bind(Approval).value(DeferredApproval(same_process=True))) as rt:
            with pytest.raises(ConstructionError, match="its decisions come later") as refused:
                rt.surface(write, name="words")
            assert "CallerApproval" in str(refused.value)

    asyncio.run(main())


async def test_missing_services_are_refused_when_the_surface_is_made_all_at_once() -> None:
    async with build(empty_layer()) as rt:
        lacking: Any = sell | write | look_up
        with pytest.raises(ConstructionError) as refused:
            rt.surface(lacking, name="words")
    assert sorted(problem.subject for problem in refused.value.problems) == ["Approval", "Shop"]
    assert "tool sell(shop)" in str(refused.value)


async def test_what_is_no_program_and_a_bound_too_small_are_refused() -> None:
    async with build(empty_layer()) as rt:
        with pytest.raises(ConstructionError, match="toolkit, or of an agent"):
            rt.surface(5)  # type: ignore[arg-type]
        with pytest.raises(ConstructionError, match="256 or more"):
            rt.surface(echo, result_bytes=3)


async def test_decisions_are_audited_and_never_what_they_were_about() -> None:
    audit = MemoryAudit(details=True)
    shop = Shop()
    answers = ScriptedApproval((True, False))
    app: Any = (
        bind(Shop).value(shop)
        | bind(Authorization).value(NoSelling())
        | bind(Approval).value(answers)
        | bind(Audit).value(audit)
    )
    async with build(app) as rt:
        surface = rt.surface(sell | write, name="words")
        await call(surface, "sell", {"text": "s3cr3t"})
        await call(surface, "write", {"text": "s3cr3t"})
        await call(surface, "write", {"text": "s3cr3t"})
        shop.open = False
        await call(surface, "sell", {"text": "s3cr3t"})
    assert [(each.kind, each.subject, each.decision, each.outcome) for each in audit.entries] == [
        ("authorization", "sell", "refused", "not-run"),
        ("authorization", "write", "allowed", "goes-on"),
        ("approval", "write", "asked", "waits"),
        ("approval", "write", "allowed", "goes-on"),
        ("authorization", "write", "allowed", "goes-on"),
        ("approval", "write", "asked", "waits"),
        ("approval", "write", "refused", "not-run"),
        ("availability", "sell", "refused", "not-run"),
    ]
    assert {(each.agent, each.run, each.turn, each.call) for each in audit.entries} == {("words", "i-1", 1, "call")}
    assert "s3cr3t" not in repr(audit.entries)


# A call is a request.


async def test_a_failure_is_thrown_into_the_requests_resources() -> None:
    seen: list[str] = []

    class Tx: ...

    async def tx() -> AsyncIterator[Tx]:
        try:
            yield Tx()
            seen.append("committed")
        except BaseException:
            seen.append("rolled back")
            raise

    @tool()
    async def buy(call: Word, ok: Try[NoSuchWord], tx: Tx) -> str:
        return ok.fail(NoSuchWord(call.text)) if call.text == "nothing" else call.text

    async with build(scoped(tx, life="request")) as rt:
        surface = rt.surface(buy)
        assert isinstance(await call(surface, "buy", {"text": "nothing"}), ToolFailure)
        assert isinstance(await call(surface, "buy", {"text": "tea"}), ToolSuccess)
    assert seen == ["rolled back", "committed"]


async def test_results_are_redacted_before_they_are_cut() -> None:
    async with build(bind(Secrets).value(Secrets("s3cr3t-token"))) as rt:
        surface = rt.surface(echo, result_bytes=256)
        assert await call(surface, "echo", {"text": "it is s3cr3t-token"}) == ToolSuccess("it is [REDACTED:secret]")
        cut = await call(surface, "echo", {"text": "x" * 1000})
        assert cut.value["truncatedToolResult"] is True
        assert cut.value["originalBytes"] == 1002


async def test_contents_have_a_bound_of_their_own() -> None:
    @tool(execution="readonly")
    async def letter(call: Word, ok: Try[Never]) -> Contents:
        return Contents((TextContent(call.text * 100_000),))

    async with build(empty_layer()) as rt:
        surface = rt.surface(letter)
        assert (surface.capabilities[0].gives, surface.capabilities[0].output_schema) == ("contents", None)
        outcome = await call(surface, "letter", {"text": "x"})
    assert outcome.value == {"content": [{"_tag": "TextContent", "text": "x" * 100_000, "type": "text"}]}


# Aborts.


def waiting(begun: asyncio.Event, ended: list[str], execution: Any = "uncertain") -> Any:
    """Give a tool that never ends by itself, and tells when it has begun and has been cancelled."""

    @tool(execution=execution)
    async def wait(call: Word, ok: Try[Never]) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")
        return "never"

    return wait


@pytest.mark.parametrize(
    ("execution", "outcome"),
    [
        ("readonly", ToolDefect("interrupted")),
        ("idempotent", ToolUnknownOutcome()),
        ("uncertain", ToolUnknownOutcome()),
    ],
)
async def test_an_abort_reaches_the_handler_and_is_told_honestly(execution: Any, outcome: Any) -> None:
    begun, ended = asyncio.Event(), list[str]()
    wait = waiting(begun, ended, execution)
    signal = Signal()
    async with build(empty_layer()) as rt:
        task = asyncio.create_task(call(rt.surface(wait), "wait", {"text": "x"}, signal=signal))
        await begun.wait()
        signal.abort()
        assert await task == outcome
    assert ended == ["cancelled"]
    assert signal.listeners == 0


async def test_an_abort_before_the_start_starts_nothing() -> None:
    signal = Signal()
    signal.abort()
    async with build(empty_layer()) as rt:
        surface = rt.surface(echo)
        assert await call(surface, "echo", {"text": "x"}, signal=signal) == ToolRejected("not-started")
        assert (await call(surface, "ecko", {}, signal=signal)).reason == "no-such-tool"


async def test_an_abort_while_a_permit_is_waited_for_starts_nothing() -> None:
    one, begun, go = ConcurrencyGroup("one", 1), asyncio.Event(), asyncio.Event()

    @tool(groups=(one,))
    async def wait(call: Word, ok: Try[Never]) -> str:
        begun.set()
        await go.wait()
        return call.text

    signal = Signal()
    async with build(empty_layer()) as rt:
        surface = rt.surface(wait)
        first = asyncio.create_task(call(surface, "wait", {"text": "first"}))
        await begun.wait()
        second = asyncio.create_task(call(surface, "wait", {"text": "second"}, signal=signal))
        await asyncio.sleep(0)
        signal.abort()
        assert await second == ToolRejected("not-started")
        go.set()
        assert await first == ToolSuccess("first")
        assert await call(surface, "wait", {"text": "third"}) == ToolSuccess("third")


async def test_a_handler_that_finishes_in_spite_of_an_abort_has_its_answer() -> None:
    begun = asyncio.Event()

    @tool()
    async def stubborn(call: Word, ok: Try[Never]) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "done all the same"
        return "never"

    signal = Signal()
    async with build(empty_layer()) as rt:
        task = asyncio.create_task(call(rt.surface(stubborn), "stubborn", {"text": "x"}, signal=signal))
        await begun.wait()
        signal.abort()
        assert await task == ToolSuccess("done all the same")


async def test_cancelling_the_calling_task_cancels_the_handler() -> None:
    begun, ended = asyncio.Event(), list[str]()
    wait = waiting(begun, ended)
    signal = Signal()
    async with build(empty_layer()) as rt:
        task = asyncio.create_task(call(rt.surface(wait), "wait", {"text": "x"}, signal=signal))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ended == ["cancelled"]
    assert signal.listeners == 0


async def test_a_handler_that_cancels_itself_is_no_abort() -> None:
    @tool()
    async def odd(call: Word, ok: Try[Never]) -> str:
        raise asyncio.CancelledError

    async with build(empty_layer()) as rt:
        surface = rt.surface(odd)
        assert await call(surface, "odd", {"text": "x"}) == ToolUnknownOutcome()
        assert await call(surface, "odd", {"text": "x"}, signal=Signal()) == ToolUnknownOutcome()


# The caller, and other seeds.


class Principal:
    def __init__(self, name: str) -> None:
        self.name = name


async def test_each_call_brings_its_caller() -> None:
    async with build(empty_layer(), seeds=seed(Caller)) as opened:
        surface = opened.surface(tell | echo)
        assert surface.capabilities[0].asks == {"progress", "log"}
        first, second = RecordingCaller(), RecordingCaller(frozenset())
        assert await surface.invoke("tell", {"text": "a"}, invocation(), first) == ToolSuccess(
            "elicit,log,progress,roots,sample"
        )
        assert await surface.invoke("tell", {"text": "b"}, invocation(), second) == ToolSuccess("")
        assert await surface.invoke("echo", {"text": "b"}, invocation(), second) == ToolSuccess("b")
    assert first.told == [("progress", 1, 2, "a"), ("log", "info", "a")]
    assert second.told == [("progress", 1, 2, "b"), ("log", "info", "b")]


async def test_other_seeds_are_given_once() -> None:
    @tool()
    async def who(call: Word, ok: Try[Never], principal: Principal, caller: Caller) -> str:
        await caller.progress(1)
        return principal.name

    seeds = seed(Principal) | seed(Caller)
    async with build(empty_layer(), seeds=seeds) as opened:
        ada = opened.surface(who, given=bind(Principal).value(Principal("ada")))
        bob = opened.surface(who, given=bind(Principal).value(Principal("bob")))
        caller = RecordingCaller()
        assert await ada.invoke("who", {"text": ""}, invocation(), caller) == ToolSuccess("ada")
        assert await bob.invoke("who", {"text": ""}, invocation(), caller) == ToolSuccess("bob")
        with pytest.raises(ConstructionError, match="MISSING Principal"):
            opened.surface(who)  # type: ignore[call-overload]
        given: Any = bind(Principal).value(Principal("eve")) | bind(Caller).value(NOBODY)
        served = opened.given(given).surface(who)
        assert await served.invoke("who", {"text": ""}, invocation(), caller) == ToolSuccess("eve")
    assert caller.told == [("progress", 1, None, "")] * 3


async def test_seeds_without_a_caller_are_given_to_the_runtime() -> None:
    @tool()
    async def who(call: Word, ok: Try[Never], principal: Principal) -> str:
        return principal.name

    async with build(empty_layer(), seeds=seed(Principal)) as opened:
        surface = opened.given(bind(Principal).value(Principal("ada"))).surface(who)
        assert await call(surface, "who", {"text": ""}) == ToolSuccess("ada")


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (("accept", {"decision": "approve"}), ToolSuccess("wrote tea")),
        (
            ("accept", {"decision": "deny"}),
            ToolRejected("denied", "The call was denied: The person who was asked said no."),
        ),
        (
            ("decline", {}),
            ToolRejected("denied", "The call was denied: The person who was asked gave no approval."),
        ),
        (
            ("accept", {"decision": "perhaps"}),
            ToolRejected(
                "denied",
                "The call was denied: The approval service gave no decision: the caller could not be asked.",
            ),
        ),
    ],
)
async def test_the_caller_may_be_the_one_who_approves(answer: Asked, outcome: Any) -> None:
    app: Layer[Any, Any, Never] = bind(Approval).to(CallerApproval, life="request")
    async with build(app, seeds=seed(Caller)) as opened:
        surface = opened.surface(write)
        assert surface.capabilities[0].asks == {"elicit"}
        caller = RecordingCaller(answers=[answer])
        assert await surface.invoke("write", {"text": "tea"}, invocation(), caller) == outcome
    assert caller.asked == ["write asks for approval (risk: medium).\nWrite tea"]


async def test_a_closed_runtime_breaks_no_promise() -> None:
    async with build(layer(Shop)) as rt:
        surface = rt.surface(echo | sell)
    assert await call(surface, "echo", {"text": "x"}) == ToolDefect("raised")
    assert await call(surface, "sell", {"text": "x"}) == ToolRejected("unavailable")
