"""Every door by which a person's words come in: a secret that is typed there is in nothing that comes out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Never

import attrs
import pytest
from returns.result import Failure, Success

from lamina.adapters.approval_webhook import StoredDesk, Verdict, WaitingDesk
from lamina.agent import Agent
from lamina.approval import (
    Approval,
    ApprovalRequest,
    CallerApproval,
    DeferredApproval,
    Denied,
    ScriptedApproval,
    WaitingApproval,
)
from lamina.call import Caller, Invocation
from lamina.contract import Contract, audit_log, completes
from lamina.contract import Denied as NotAllowed
from lamina.conversation import Journal, MemoryJournal, stored_conversations
from lamina.effect import Try, bind, handler, seed
from lamina.model import LanguageModel
from lamina.redaction import MASK, Secrets, forms_of
from lamina.runtime import build
from lamina.session import Metadata, SessionPatch, SessionStore, stored_sessions
from lamina.steering import MemorySteering, Steering, StoredSteering, memory_steering, stored_steering
from lamina.store import Store
from lamina.testing import ScriptedModel, call_tool, say
from lamina.tools import tool
from tests.conversing import Ledger, post, the_conversations
from tests.stores import STORES, Place
from tests.unit.callers import RecordingCaller
from tests.unit.cli.commands import APP, Commands, lamina
from tests.unit.contract.scene import Clear, Delete, Deleted, Host, Message, Model
from tests.unit.engine.world import Word, agent_with, policy

__all__ = ["lamina"]

SECRET = "s3cr3t-token"
WORDS = f"the {SECRET}, you know"
on_every_store = pytest.mark.parametrize("kind", STORES)


@handler
async def the_steering(_: None, steering: Steering) -> Steering:
    return steering


@handler
async def the_sessions(_: None, sessions: SessionStore) -> SessionStore:
    return sessions


def holds(*things: Any) -> bool:
    return any(form in repr(things) for form in forms_of(SECRET))


async def rows_of(store: Store, *tables: str) -> str:
    return repr([(await store.read(f"SELECT * FROM {table}")).unwrap() for table in tables])


# --- what is said to a run ------------------------------------------------------------------------------------------


@on_every_store
async def test_what_steering_keeps_by_itself_holds_no_secret(kind: str, tmp_path: Path) -> None:
    """Given to the service past the runtime, in memory and in a store; the same words twice are one command."""
    secrets = Secrets(SECRET)
    async with Place(kind, tmp_path).open() as store:
        for steering in (MemorySteering(secrets=secrets), StoredSteering(store, secrets=secrets)):
            run = f"run-{type(steering).__name__}"
            conversation = None
            if isinstance(steering, StoredSteering):
                conversation = "c"
                async with build(stored_conversations().provide(bind(Store).value(store))) as rt:
                    conversations = await rt.run(the_conversations, None)
                    (await conversations.claim("c", run)).unwrap()
            (await steering.open(run, conversation=conversation)).unwrap()
            first = (await steering.submit(run, WORDS, id="m")).unwrap()
            assert (await steering.submit(run, WORDS, id="m")).unwrap() == first
            for named in ({"id": f"m-{SECRET}"}, {"id": "n", "author": SECRET}):
                refused = await steering.submit(run, "hello", **named)
                assert refused.failure().why == "it holds a secret"
            kept = ((await steering.waiting(run, "steering", 8)).unwrap(), (await steering.commands(run)).unwrap())
            assert MASK in repr(kept[0][0].text)
            assert not holds(kept, [placed.command.text for placed in kept[1]])
        assert not holds(await rows_of(store, "steering"))


@on_every_store
async def test_no_way_of_saying_something_to_a_run_names_anybody_with_a_secret(kind: str, tmp_path: Path) -> None:
    entered, gate = asyncio.Event(), asyncio.Event()

    @tool(execution="readonly")
    async def wait(call: Word, ok: Try[Never]) -> str:
        """Wait."""
        entered.set()
        await gate.wait()
        return call.text

    secrets = Secrets(SECRET)
    binding = agent_with(wait, steering=True).on(ScriptedModel(call_tool("wait", text="x"), say("done"), say("done")))
    async with asyncio.timeout(50), Place(kind, tmp_path).open() as store:
        # The stores are told nothing: what the runtime knows has to do.
        here = bind(Store).value(store)
        app = stored_conversations().provide(here) | stored_steering().provide(here) | bind(Secrets).value(secrets)
        async with build(app) as rt, rt.start(binding, "go", conversation="c") as run:
            await entered.wait()
            refused = [
                await run.steer("a", author=SECRET),
                await run.follow_up("b", id=f"b-{SECRET}"),
                await rt.steer("c", conversation="c", author=SECRET),
                await rt.steer("d", conversation="c", id=f"d-{SECRET}"),
            ]
            (await rt.steer(WORDS, conversation="c", author="ada")).unwrap()
            gate.set()
            ended = await run.result()
            events = [event.to_json() async for event in run.events()]
        rows = await rows_of(store, "steering", "record")
    assert [one.failure().why for one in refused] == ["it holds a secret"] * 4
    assert MASK in rows
    assert not holds(rows, events, ended.unwrap().report.history.messages)


async def test_in_memory_a_runtimes_steering_takes_the_secrets_that_it_is_given() -> None:
    secrets = Secrets(SECRET)
    async with build(memory_steering(secrets=secrets) | bind(Secrets).value(secrets)) as rt:
        steering = await rt.run(the_steering, None)
        (await steering.open("r")).unwrap()
        (await steering.submit("r", WORDS, id="m", kind="follow-up")).unwrap()
        assert [command.text for command in (await steering.end("r")).unwrap()] == [f"the {MASK}, you know"]


async def test_a_run_in_no_conversation_is_on_behalf_of_no_secret() -> None:
    journal, model = MemoryJournal(), ScriptedModel(say("done"))
    async with build(bind(Journal).value(journal) | bind(Secrets).value(Secrets(SECRET))) as rt:
        ended = await rt.run(agent_with().on(model), "go", principal=SECRET)
    assert ended.unwrap().output == "done"
    assert not holds([(each.id, each.author) for each in journal.records if hasattr(each, "author")], model.requests)
    assert MASK in [each.author for each in journal.records if hasattr(each, "author")]


# --- what is decided ------------------------------------------------------------------------------------------------


class Elsewhere(WaitingApproval):
    """Decides as the webhook does, as soon as somebody waits."""

    async def request(self, request: ApprovalRequest) -> Any:
        def decide() -> None:
            verdict = Verdict(
                run=request.key.run,
                turn=request.key.turn,
                call=request.key.call,
                conversation=request.conversation,
                decision="deny",
                arguments_digest=request.arguments_digest,
                reason=WORDS,
            )
            deciding.append(asyncio.ensure_future(WaitingDesk(self).decide(verdict, "ada", None)))

        deciding: list[asyncio.Future[Any]] = []
        asyncio.get_running_loop().call_soon(decide)
        answer = await super().request(request)
        assert isinstance(await deciding[0], Success)
        return answer


@on_every_store
@pytest.mark.parametrize("door", ["an approver", "the webhook over what waits"])
async def test_a_reason_that_is_given_at_once_holds_no_secret(kind: str, door: str, tmp_path: Path) -> None:
    approval = ScriptedApproval([Denied(SECRET, WORDS)]) if door == "an approver" else Elsewhere()
    model, audit_app = ScriptedModel(call_tool("post", text="p", id="p"), say("done")), bind(Ledger).value(Ledger())
    async with asyncio.timeout(50), Place(kind, tmp_path).open() as store:
        app: Any = stored_conversations().provide(bind(Store).value(store)) | bind(Approval).value(approval)
        async with (
            build(app | audit_app | bind(Secrets).value(Secrets(SECRET))) as rt,
            rt.start(agent_with(post).on(model), "go", conversation="c") as run,
        ):
            events = [event.to_json() async for event in run.events()]
            ended = await run.result()
        rows = await rows_of(store, "record")
    assert ended.unwrap().output == "done"
    assert "you know" in rows
    assert not holds(rows, events, model.requests, ended)


@on_every_store
@pytest.mark.parametrize("door", ["decide", "webhook", "resume"])
async def test_a_reason_that_is_given_later_holds_no_secret(kind: str, door: str, tmp_path: Path) -> None:
    secrets, model = Secrets(SECRET), ScriptedModel(call_tool("post", text="p", id="p"), say("done"))
    async with asyncio.timeout(50), Place(kind, tmp_path).open() as store:
        kept = stored_conversations(secrets=secrets).provide(bind(Store).value(store))
        app: Any = kept | bind(Approval).value(DeferredApproval(same_process=True)) | bind(Ledger).value(Ledger())
        async with build(app | bind(Secrets).value(secrets)) as rt:
            binding = agent_with(post).on(model)
            suspended = (await rt.run(binding, "go", conversation="c")).failure().cause
            (waiting,) = suspended.waiting
            conversations, given = await rt.run(the_conversations, None), {}
            answer: Any = None
            if door == "decide":
                no = Denied("ada", WORDS)
                answer = await conversations.decide("c", suspended.run, "p", no, waiting.arguments_digest)
            elif door == "webhook":
                verdict = Verdict(
                    run=suspended.run,
                    turn=suspended.turn,
                    call="p",
                    conversation="c",
                    decision="deny",
                    arguments_digest=waiting.arguments_digest,
                    reason=WORDS,
                )
                answer = await StoredDesk(conversations).decide(verdict, "ada", None)
            else:
                given = {"p": Denied("ada", WORDS)}
            assert not isinstance(answer, Failure)
            async with rt.start_resumed(binding, suspended, given) as run:
                events = [event.to_json() async for event in run.events()]
                ended = await run.result()
        rows = await rows_of(store, "record")
    assert ended.unwrap().output == "done"
    assert "you know" in rows
    assert not holds(rows, events, model.requests, ended, answer)


def test_a_reason_on_the_command_line_holds_nothing_that_the_environment_calls_secret(
    lamina: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", SECRET)
    monkeypatch.setenv("MY_WORD", "open-sesame")
    waiting = lamina.suspended()

    missing = lamina("approvals", "deny", waiting["approval"], "--hide", "NO_SUCH_NAME")
    ended = lamina(
        "approvals", "deny", waiting["approval"], "--json", "--hide", "MY_WORD", "--reason", f"{WORDS}; open-sesame"
    )

    assert (missing.code, "NO_SUCH_NAME" in missing.err) == (2, True)
    assert ended.last["reason"] == f"the {MASK}, you know; {MASK}"
    lamina("run", APP, "--session", "ada", "--resume")
    for file in lamina.folder.glob("lamina.db*"):
        assert not holds(file.read_bytes())
        assert b"open-sesame" not in file.read_bytes()


# --- what is kept beside runs, and what an application and its callers say -----------------------------------------


@on_every_store
async def test_no_metadata_and_no_name_of_a_fork_holds_a_secret(kind: str, tmp_path: Path) -> None:
    secrets = Secrets(SECRET)
    async with Place(kind, tmp_path).open() as store:
        here = bind(Store).value(store)
        app = stored_conversations(secrets=secrets).provide(here) | stored_sessions(secrets=secrets).provide(here)
        async with build(app) as rt:
            conversations = await rt.run(the_conversations, None)
            log = (await conversations.claim("c", "run-1")).unwrap()
            assert log is not None
            forked = await conversations.fork("c", f"c-{SECRET}")
            sessions = await rt.run(the_sessions, None)
            made = (await sessions.create("s", metadata=Metadata(value={"title": WORDS}))).unwrap()
            patch = SessionPatch(metadata=Metadata(value={"title": [WORDS]}))
            changed = (await sessions.update("s", patch, made.revision)).unwrap()
        rows = await rows_of(store, "session", "conversation")
    assert forked.failure().why == "it holds a secret"
    assert MASK in repr(changed.metadata.value)
    assert not holds(rows, made.metadata, changed.metadata)


class OurHost(Host): ...


@on_every_store
async def test_what_a_contract_says_to_an_agent_holds_no_secret(kind: str, tmp_path: Path) -> None:
    """A message that ended it, a refusal of its own, and the inputs in its audit."""
    host, audit = OurHost(on_dispatch=lambda message: host.happen(Deleted(WORDS))), audit_log(include_input=True)
    contract = (
        Contract.of(Model, messages=Message, name="todo")
        .variant(Delete, "d", completion=completes(Deleted))
        .variant(Clear, "c", authorize=lambda attempt: NotAllowed(WORDS))
    )
    agent = Agent("a", instructions="i", policy=policy(), toolkit=contract.toolkit(OurHost, audit=audit))
    batch = call_tool("delete", raw=f'{{"id": "{WORDS}"}}', id="d") & call_tool("clear", id="c")
    model = ScriptedModel(batch, say("done"))
    binding = agent.on(bind(LanguageModel).value(model))
    async with asyncio.timeout(50), Place(kind, tmp_path).open() as store:
        app: Any = stored_conversations().provide(bind(Store).value(store)) | bind(OurHost).value(host)
        async with (
            build(app | bind(Secrets).value(Secrets(SECRET))) as rt,
            rt.start(binding, "go", conversation="c") as run,
        ):
            events = [event.to_json() async for event in run.events()]
            ended = await run.result()
            surface = rt.surface(contract.toolkit(OurHost, audit=audit))
            outside = [
                await surface.invoke("delete", {"id": WORDS}, Invocation.new(), RecordingCaller()),
                await surface.invoke("clear", {}, Invocation.new(), RecordingCaller()),
                await rt.bind(contract, host).invoke("clear", {}, Invocation.new(), RecordingCaller()),
            ]
        rows = await rows_of(store, "record")
    assert ended.unwrap().output == "done"
    assert rows.count("you know") > 2
    assert len(audit.entries) == 4
    assert not holds(rows, events, model.requests, ended, outside, [outcome.message for outcome in outside[1:]])
    assert not holds([(entry.input, entry.detail) for entry in audit.entries])


@attrs.frozen
class Answer:
    name: str


async def test_what_a_caller_answers_to_a_question_comes_out_without_a_secret() -> None:
    @tool()
    async def greet(call: Word, ok: Try[Never], caller: Caller) -> str:
        """Ask for a name, and greet."""
        answered = await caller.elicit_as("Who?", Answer)
        return f"hello {answered.unwrap().name}"

    @tool(needs_approval=True)
    async def send(call: Word, ok: Try[Never]) -> str:
        """Send."""
        return call.text

    app: Any = bind(Approval).to(CallerApproval, life="request") | bind(Secrets).value(Secrets(SECRET))
    async with build(app, seeds=seed(Caller)) as opened:
        surface = opened.surface(greet | send)
        caller = RecordingCaller(
            answers=[("accept", {"name": WORDS}), ("decline", {"decision": WORDS}), ("accept", {"decision": WORDS})]
        )
        said = [
            await surface.invoke("greet", {"text": "x"}, Invocation.new(), caller),
            await surface.invoke("send", {"text": WORDS}, Invocation.new(), caller),
            await surface.invoke("send", {"text": WORDS}, Invocation.new(), caller),
        ]
    assert MASK in repr(said[0])
    assert not holds(said, [one.message for one in said[1:]], caller.asked, caller.told)
