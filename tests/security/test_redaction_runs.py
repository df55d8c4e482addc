"""Whole runs: payload is in no span, log or audit entry; a registered secret is in nothing that a run passes on at all.

The sinks are those of an application: OpenTelemetry's exporter, structlog's and the standard library's log, both
audits, every table of the store as it is, the model's requests, events, results and histories.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
from base64 import b64encode
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Never

import attrs
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from returns.result import Success

from lamina.agent import Agent
from lamina.approval import Approval, Approved, Ask, DeferredApproval, Denied, ScriptedApproval
from lamina.audit import Audit, MemoryAudit, stored_audit
from lamina.call import Allowed as AllowedCall
from lamina.call import Authorization, AuthorizationAnswer, AuthorizationRequest, NotAllowed
from lamina.conversation import CallStarted, History, Journal, MemoryJournal, stored_conversations
from lamina.effect import Try, bind, handler, log, tagged
from lamina.engine import AgentOutputError, ReasoningDelta, RunSuspended, TextDelta, ToolCallDeclared, ToolFailed
from lamina.model import (
    AssistantMessage,
    Finish,
    ModelError,
    ReasoningEnd,
    ReasoningStart,
    Text,
    TextEnd,
    TextStart,
    Unsupported,
    UserMessage,
)
from lamina.model import ReasoningDelta as ReasoningDeltaPart
from lamina.model import TextDelta as TextDeltaPart
from lamina.providers.anthropic import anthropic_model
from lamina.providers.openai import openai_model
from lamina.redaction import MASK, SecretPattern, Secrets, forms_of
from lamina.runtime import Runtime, RuntimeBuilder, build
from lamina.session import Metadata, SessionStore, stored_sessions
from lamina.steering import StoredSteering, stored_steering
from lamina.store import Store
from lamina.telemetry import OpenTelemetry, Telemetry, configure_logging, observing
from lamina.testing import SCRIPTED_USAGE, ScriptedModel, call_tool, fail, raw, say, think
from lamina.tools import tool
from tests.conversing import the_conversations
from tests.stores import STORES, Place
from tests.unit.engine.world import agent_with, outcomes_by_id, policy

on_every_store = pytest.mark.parametrize("kind", STORES)
CANARY = "canary-58d3a1"
SECRET = "sk-Live/9x7Q+zz-token"
TABLES = ("conversation", "record", "session", "session_conversation", "steering", "audit")


@attrs.frozen
class Note:
    text: str
    tags: dict[str, str] = attrs.field(factory=dict)


@tagged("Nobody knows {text}.")
class Unknown:
    text: str


@tool(execution="readonly")
async def read(call: Note, ok: Try[Never]) -> dict[str, str]:
    """Read what is there: the key itself, and twice encoded."""
    log().info("read", note=call, arguments=call.text)
    return {"plain": SECRET, "base64": b64encode(f"Bearer {SECRET}".encode()).decode(), "json": json.dumps([SECRET])}


@tool(execution="readonly")
async def search(call: Note, ok: Try[Unknown]) -> str:
    """Find nothing."""
    return ok.fail(Unknown(f"{call.text} {SECRET}"))


@tool(failure_mode="error")
async def insist(call: Note, ok: Try[Unknown]) -> str:
    """Find nothing, and end the run."""
    return ok.fail(Unknown(f"{call.text} {SECRET}"))


@tool()
async def boom(call: Note, ok: Try[Never]) -> str:
    """Break."""
    raise ValueError(f"{call.text} {SECRET}") from KeyError(call.text)


@tool(
    needs_approval=True,
    approval=Ask[Note](
        summary=lambda note: f"Send {note.text} with {SECRET}",
        targets=lambda note: [note.text, f"https://h/?key={SECRET}"],
        recoverable=True,
    ),
)
async def send(call: Note, ok: Try[Never]) -> str:
    """Send."""
    return f"sent {call.text}"


KIT = read | search | boom | send


@attrs.frozen
class Sinks:
    """Where spans, metrics and log lines of a test go."""

    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader
    telemetry: OpenTelemetry
    lines: io.StringIO

    def texts(self) -> dict[str, str]:
        metrics = self.reader.get_metrics_data()
        return {
            "spans": "".join(span.to_json() for span in self.exporter.get_finished_spans()),
            "metrics": "" if metrics is None else metrics.to_json(),
            "log": self.lines.getvalue(),
        }


@pytest.fixture
def sinks() -> Iterator[Sinks]:
    exporter, tracers, reader = InMemorySpanExporter(), TracerProvider(), InMemoryMetricReader()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider(metric_readers=[reader])
    root, lines = logging.getLogger(), io.StringIO()
    mine = logging.getLogger("lamina")
    before = root.level, list(root.handlers), mine.level
    configure_logging(stream=lines, level="DEBUG", logger="")
    mine.setLevel("DEBUG")
    yield Sinks(exporter, reader, OpenTelemetry(tracer_provider=tracers, meter_provider=meters), lines)
    root.setLevel(before[0])
    root.handlers[:] = before[1]
    mine.setLevel(before[2])


class Host(Authorization):
    """Says no to what is tagged, and why."""

    async def authorize(self, request: AuthorizationRequest) -> AuthorizationAnswer:
        given = request.input
        refused = isinstance(given, Note) and "refuse" in given.tags
        return NotAllowed(f"{given} {SECRET}") if refused else AllowedCall()


@handler
async def the_sessions(_: None, sessions: SessionStore) -> SessionStore:
    return sessions


@asynccontextmanager
async def running(store: Store, *more: Any, secrets: Secrets | None = None) -> AsyncGenerator[Runtime[Any], None]:
    """Open a runtime over a store, with everything that could leak."""
    here = bind(Store).value(store)
    app: Any = stored_conversations(secrets=secrets).provide(here) | stored_sessions(secrets=secrets).provide(here)
    app = app | bind(Approval).value(DeferredApproval(same_process=True)) | bind(Authorization).to(Host)
    if secrets is not None:
        app = app | bind(Secrets).value(secrets)
    for one in more:
        app = app | one
    async with build(app) as rt:
        yield rt


async def through(rt: Runtime[Any], binding: Any, given: Any, observed: bool, **options: Any) -> tuple[Any, list[Any]]:
    """Run to the end, watched or not; give the result and the events."""
    if not observed:
        return await rt.run(binding, given, **options), []
    async with rt.start(binding, given, **options) as run:
        events = [event async for event in run.events()]
        return await run.result(), events


async def rows_of(store: Store) -> str:
    """Give every row of every table, as it is."""
    return repr([(await store.read(f"SELECT * FROM {table}")).unwrap() for table in TABLES])


def files_in(folder: Path) -> str:
    """Give the bytes of every file, the database's and its log's."""
    return "".join(path.read_bytes().decode("latin-1") for path in folder.iterdir())


def found_in(texts: dict[str, Any], hidden: str = SECRET) -> list[str]:
    """Give where a secret is, in any of its forms."""
    return [where for where, text in texts.items() if any(form in str(text) for form in forms_of(hidden))]


def shown(events: list[Any]) -> str:
    return repr(events) + json.dumps([event.to_json() for event in events])


# --- payload: shapes only -------------------------------------------------------------------------------------------


@on_every_store
@pytest.mark.parametrize("observed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("audit", ["memory", "stored"])
async def test_payload_is_in_no_span_log_or_audit_entry(
    kind: str, audit: str, observed: bool, sinks: Sinks, tmp_path: Path
) -> None:
    kept = MemoryAudit(principal=lambda who: "user-7")
    first = ScriptedModel(
        call_tool("read", text=CANARY, tags={CANARY: CANARY}, id="r")
        & call_tool("read", text=CANARY, tags={"refuse": CANARY}, id="a")
        & call_tool("search", text=CANARY, id="s")
        & call_tool("boom", text=CANARY, id="b")
        & call_tool(f"no-{CANARY}", text=CANARY, id="n")
        & call_tool("read", nothing=CANARY, id="i")
        & call_tool("send", text=CANARY, id="w"),
    )
    async with Place(kind, tmp_path).open() as store:
        offered: Any = bind(Audit).value(kept)
        if audit == "stored":
            offered = stored_audit(principal=lambda who: "user-7").provide(bind(Store).value(store))
        async with running(store, offered, bind(Telemetry).value(sinks.telemetry)) as rt:
            sessions = await rt.run(the_sessions, None)
            with observing(sinks.telemetry):
                metadata = Metadata(1, {"title": CANARY, CANARY: 1})
                assert isinstance(await sessions.create("s-1", metadata=metadata, conversations=("c",)), Success)
            on_first = agent_with(KIT).on(first)
            where = {"conversation": "c", "principal": CANARY}
            ended, _ = await through(rt, on_first, CANARY, observed, **where)
            suspended = ended.failure().cause
            assert isinstance(suspended, RunSuspended)
            last = agent_with(KIT).on(ScriptedModel(say(CANARY)))
            denied = await rt.resume(last, suspended, {"w": Denied("ada", CANARY)}, principal=CANARY)
            assert denied.unwrap().output == CANARY
            logging.getLogger("app").warning("sent", extra={"arguments": CANARY})
        texts = sinks.texts()
        texts["audit"] = repr(kept.entries) if audit == "memory" else await audited(store)

    names = {span.name for span in sinks.exporter.get_finished_spans()}
    wanted = {"AgentRuntime.run", "AgentRuntime.model", "execute_tool read", "approval.request", "sessions.create"}
    assert names >= wanted | {"authorization.authorize", "conversations.claim", "journal.append"}
    assert "a tool raised" in texts["log"]
    assert "lamina_runs_total" in texts["metrics"]
    for said in ("approval", "authorization", "user-7", "refused"):
        assert said in texts["audit"]
    assert [where for where, text in texts.items() if CANARY in text] == []


async def audited(store: Store) -> str:
    return repr((await store.read("SELECT * FROM audit")).unwrap())


# --- a registered secret: nowhere at all ----------------------------------------------------------------------------


@on_every_store
@pytest.mark.parametrize("observed", [True, False], ids=["streamed", "whole"])
async def test_a_secret_is_in_no_request_record_event_result_failure_or_history(
    kind: str, observed: bool, sinks: Sinks, tmp_path: Path
) -> None:
    """Across a suspension, its resume, and what the conversation says afterwards."""
    secrets, kept = Secrets(SECRET), MemoryAudit(details=True)
    first = ScriptedModel(
        think(f"I should not say {SECRET}")
        & say(f"Before: {SECRET}. ")
        & call_tool("read", text=f"read {SECRET}", tags={SECRET: SECRET}, id="r")
        & call_tool("read", text=SECRET, tags={"refuse": SECRET}, id="a")
        & call_tool("search", text=SECRET, id="s")
        & call_tool("boom", text=SECRET, id="b")
        & call_tool(f"no-{SECRET}", text=SECRET, id="n")
        & call_tool("read", id="i", raw=json.dumps({SECRET: SECRET}))
        & call_tool("send", text=SECRET, id="w")
        & call_tool("send", text="plain", id="d"),
        delta=3,
    )
    second = ScriptedModel(call_tool("read", text="again", id="r2"), say(f"It is {SECRET}!"), delta=5)
    third = ScriptedModel(say("done"))
    texts: dict[str, Any] = {}
    agent = Agent("a", instructions=lambda given: f"Use {SECRET}. {given}", policy=policy(), toolkit=KIT)
    async with Place(kind, tmp_path).open() as store:
        more = (bind(Audit).value(kept), bind(Telemetry).value(sinks.telemetry))
        async with running(store, *more, secrets=secrets) as rt:
            sessions = await rt.run(the_sessions, None)
            (await sessions.create("s-1", metadata=Metadata(1, {"key": SECRET}), conversations=("c",))).unwrap()
            given = f"The key is {SECRET}."
            ended, events = await through(rt, agent.on(first), given, observed, conversation="c")
            suspended = ended.failure().cause
            assert isinstance(suspended, RunSuspended)
            assert [waiting.call for waiting in suspended.waiting] == ["w", "d"]
            texts |= {"suspension": (ended, repr(ended.failure().report.history)), "first events": shown(events)}
            decisions = {"w": Approved("ada"), "d": Denied(SECRET, f"not with {SECRET}")}
            resumed = await rt.resume(agent.on(second), suspended, decisions)
            assert resumed.unwrap().output == f"It is {MASK}!"
            texts["resumed"] = (resumed, repr(resumed.unwrap().report.history))
            again, events = await through(rt, agent.on(third), "And?", observed, conversation="c")
            texts |= {"again": (again, repr(again.unwrap().report.history)), "last events": shown(events)}
            conversations = await rt.run(the_conversations, None)
            texts["exported"] = "".join((await conversations.export("c")).unwrap())
        texts["rows"] = await rows_of(store)
    for name, model in (("first", first), ("second", second), ("third", third)):
        texts[f"{name} requests"] = repr(model.requests)
        assert MASK in texts[f"{name} requests"]
    texts |= sinks.texts()
    texts["audit"] = repr(kept.entries)
    texts["files"] = files_in(tmp_path)
    assert found_in(texts) == []
    if kind == "sqlite":
        assert MASK in texts["files"]
    told = outcomes_by_id(second.requests[0])
    assert told["r"]["plain"] == MASK
    assert (told["w"], told["d"]["reason"]) == (f"sent {MASK}", "denied")
    assert {call: told[call]["_tag"] for call in "asbni"} == {
        "a": "ToolRejected",
        "s": "Unknown",
        "b": "ToolDefect",
        "n": "ToolRejected",
        "i": "ToolInvalidInput",
    }


@pytest.mark.parametrize("delta", [1, 2, 3, 7, 64])
async def test_streaming_says_what_not_streaming_says(delta: int) -> None:
    secrets = Secrets(SECRET, "another-secret", patterns=[SecretPattern(r"tok_[a-z]{4,20}", longest=24)])
    text = f"{SECRET[:9]} is no secret, {SECRET} is; {SECRET}{SECRET} another-secretive tok_abcdefgh. {SECRET[:5]}"
    results: list[Any] = []
    written = ""
    for observed in (True, False):
        model = ScriptedModel(think(f"hm {text}") & say(text), delta=delta)
        binding = agent_with().on(model)
        async with build(bind(Secrets).value(secrets)) as rt:
            result, events = await through(rt, binding, "go", observed)
        results.append((result.unwrap().output, result.unwrap().report.history))
        assert found_in({"result": result, "events": shown(events)}) == []
        if observed:
            written = "".join(event.text for event in events if isinstance(event, TextDelta))
            thoughts = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    assert results[0] == results[1]
    assert written == results[0][0] == secrets.redact_text(text)
    assert thoughts == secrets.redact_text(f"hm {text}")


async def test_parts_that_interleave_are_redacted_each_by_itself() -> None:
    half, rest = SECRET[:8], SECRET[8:]
    turn = raw(
        TextStart("a"),
        ReasoningStart("a"),
        TextStart("b"),
        TextDeltaPart("a", f"one {half}"),
        ReasoningDeltaPart("a", f"hm {half}"),
        TextDeltaPart("b", half),
        TextDeltaPart("a", rest),
        ReasoningDeltaPart("a", rest),
        TextDeltaPart("b", "and no more"),
        TextEnd("b"),
        TextEnd("a"),
        ReasoningEnd("a"),
        Finish("stop", SCRIPTED_USAGE),
    )
    async with build(bind(Secrets).value(Secrets(SECRET))) as rt:
        result, events = await through(rt, agent_with().on(ScriptedModel(turn)), "go", True)
    assert result.unwrap().output == f"one {MASK}{half}and no more"
    said = [event.text for event in events if isinstance(event, TextDelta | ReasoningDelta)]
    assert "".join(said) == f"one hm {MASK}{MASK}{half}and no more"
    assert found_in({"events": shown(events)}) == []


async def test_two_texts_that_are_one_secret_become_one_text() -> None:
    model = ScriptedModel(say(f"a {SECRET[:8]}") & say(f"{SECRET[8:]} b"), say("done"))
    async with build(bind(Secrets).value(Secrets(SECRET))) as rt:
        binding = agent_with().on(model)
        first = (await rt.run(binding, "go")).unwrap()
        assert first.output == f"a {MASK} b"
        await rt.run(binding, "more", history=first.report.history)
    assert found_in({"history": first.report.history, "requests": model.requests}) == []


@pytest.mark.parametrize(
    "arguments",
    [
        json.dumps({"text": SECRET}).replace("k", "\\u006b").replace("/", "\\/"),
        json.dumps({"text": SECRET, "tags": {SECRET: "x"}}),
        json.dumps({"text": SECRET}, ensure_ascii=True).replace("9", "\\u0039"),
    ],
    ids=["escaped", "keys", "digits"],
)
async def test_what_runs_is_what_is_declared_recorded_and_approved(arguments: str) -> None:
    """However the arguments are written."""
    ran: list[str] = []

    @tool(needs_approval=True)
    async def act(call: Note, ok: Try[Never]) -> str:
        ran.append(call.text)
        return call.text

    approval, journal = ScriptedApproval(lambda request: True), MemoryJournal()
    model = ScriptedModel(call_tool("act", raw=arguments, id="c"), say("done"))
    offered: Any = bind(Approval).value(approval) | bind(Journal).value(journal)
    async with build(offered | bind(Secrets).value(Secrets(SECRET))) as rt:
        result, events = await through(rt, agent_with(act).on(model), "go", True)
    (request,) = approval.requests
    (declared,) = [message.calls for message in model.requests[1].messages if isinstance(message, AssistantMessage)]
    parameters = [event.parameters for event in events if isinstance(event, ToolCallDeclared)]
    assert ran == [MASK]
    assert request.preview == parameters[0] == json.loads(declared[0].arguments)
    assert request.preview["text"] == MASK
    started = [record for record in journal.records if isinstance(record, CallStarted)]
    assert [record.arguments_digest for record in started] == [request.arguments_digest]
    texts = {"events": shown(events), "records": journal.records, "requests": model.requests, "approval": request}
    assert found_in(texts | {"result": result}) == []


async def test_a_number_may_be_a_secret() -> None:
    model = ScriptedModel(call_tool("echo_number", raw='{"number": 123456789}', id="c"), say("done"))

    @tool(execution="readonly")
    async def echo_number(call: Number, ok: Try[Never]) -> int:
        return 123456789

    async with build(bind(Secrets).value(Secrets("123456789"))) as rt:
        await rt.run(agent_with(echo_number).on(model), "go")
    assert outcomes_by_id(model.requests[1])["c"]["_tag"] == "ToolInvalidInput"
    assert found_in({"requests": model.requests}, "123456789") == []


@pytest.mark.parametrize("observed", [True, False])
async def test_failures_hold_no_secret(observed: bool) -> None:
    broken = ModelError(Unsupported(f"the key {SECRET}"))
    for turns, cause in (
        ((fail(broken),), ModelError),
        ((call_tool("insist", text="x"),), ToolFailed),
        ((say(json.dumps({SECRET: 1})), say(json.dumps({"text": 1, SECRET: 2}))), AgentOutputError),
    ):
        model = ScriptedModel(*turns)
        binding = agent_with(insist, output=Note if cause is AgentOutputError else str).on(model)
        async with build(bind(Secrets).value(Secrets(SECRET))) as rt:
            ended, events = await through(rt, binding, SECRET, observed)
        failure = ended.failure()
        assert isinstance(failure.cause, cause)
        texts = {"failure": repr(failure), "says": str(failure), "history": failure.report.history}
        assert found_in(texts | {"events": shown(events), "requests": model.requests}) == []


@attrs.frozen
class Number:
    number: int


async def test_an_answer_that_json_escapes_hide_is_redacted_too() -> None:
    written = json.dumps({"text": SECRET, "tags": {}}).replace("k", "\\u006b")
    async with build(bind(Secrets).value(Secrets(SECRET))) as rt:
        result, events = await through(rt, agent_with(output=Note).on(ScriptedModel(say(written))), "go", True)
    assert result.unwrap().output == Note(MASK)
    assert found_in({"result": result, "events": shown(events)}) == []


async def test_history_and_tools_are_shown_without_what_is_secret_now() -> None:
    """A secret may be registered after something with it was said."""
    secrets = Secrets()

    @attrs.frozen
    class Login:
        key: str = SECRET

    async def log_in(call: Login, ok: Try[Never]) -> str:
        return call.key

    log_in.__doc__ = f"Log in with {SECRET}."
    login: Any = tool()(log_in)
    model = ScriptedModel(say(f"so {SECRET}"), say("done"), say("done"))
    binding = agent_with(login, output=str).on(model)
    said = History.of(UserMessage.of(f"I know {SECRET}"), AssistantMessage((Text(SECRET),)))
    async with build(bind(Secrets).value(secrets)) as rt:
        before = (await rt.run(binding, "go", history=said)).unwrap()
        assert SECRET in repr(model.requests[0])
        secrets.register(SECRET)
        after = (await rt.run(binding, "go", history=before.report.history)).unwrap()
        assert (await rt.run(binding, "go", history=after.report.history)).unwrap().report.history.messages[:6] == (
            after.report.history.messages
        )
    assert found_in({"requests": model.requests[1:], "history": after.report.history}) == []


@on_every_store
async def test_a_conversation_from_before_is_shown_without_what_is_secret_now(kind: str, tmp_path: Path) -> None:
    """Also where the run was suspended before: what is decided on then has other arguments, and does not run."""
    secrets = Secrets()
    model = ScriptedModel(
        call_tool("read", text="x", id="r") & call_tool("send", text=SECRET, id="w"), say("done"), say("done")
    )
    binding = agent_with(KIT).on(model)
    async with Place(kind, tmp_path).open() as store, running(store, secrets=secrets) as rt:
        suspended = (await rt.run(binding, f"go {SECRET}", conversation="c")).failure().cause
        secrets.register(SECRET)
        resumed = await rt.resume(binding, suspended, {"w": Approved("ada")})
        assert resumed.unwrap().output == "done"
        again = await rt.run(binding, "more", conversation="c")
    assert outcomes_by_id(model.requests[1])["w"]["reason"] == "denied"
    assert found_in({"requests": model.requests[1:], "resumed": resumed, "again": again}) == []
    assert found_in({"history": (resumed.unwrap().report.history, again.unwrap().report.history)}) == []


@on_every_store
async def test_a_decision_from_outside_is_recorded_without_a_secret(kind: str, tmp_path: Path) -> None:
    model = ScriptedModel(call_tool("send", text="x", id="w"), say("done"))
    binding = agent_with(KIT).on(model)
    async with Place(kind, tmp_path).open() as store:
        async with running(store, secrets=Secrets(SECRET)) as rt:
            suspended = (await rt.run(binding, "go", conversation="c")).failure().cause
            conversations = await rt.run(the_conversations, None)
            (waiting,) = suspended.waiting
            no = Denied("ada", f"never with {SECRET}")
            (await conversations.decide("c", suspended.run, "w", no, waiting.arguments_digest)).unwrap()
            await rt.resume(binding, suspended)
        rows = await rows_of(store)
    assert "never with" in rows
    assert found_in({"rows": rows, "requests": model.requests}) == []


@on_every_store
async def test_what_is_said_to_a_run_on_its_way_holds_no_secret(kind: str, tmp_path: Path) -> None:
    """By its own handle, by another process over the same store, and what is never delivered."""
    secrets, entered, gate = Secrets(SECRET), asyncio.Event(), asyncio.Event()

    @tool(execution="readonly")
    async def wait(call: Note, ok: Try[Never]) -> str:
        entered.set()
        await gate.wait()
        return call.text

    model = ScriptedModel(call_tool("wait", text="x"), say("done"), say("done again"))
    binding = agent_with(wait, steering=True, max_turns=2).on(model)
    async with Place(kind, tmp_path).open() as store:
        here = bind(Store).value(store)
        steering: Any = stored_steering().provide(here)
        async with (
            running(store, steering, secrets=secrets) as rt,
            rt.start(binding, "go", conversation="c") as run,
        ):
            await entered.wait()
            (await run.steer(f"use {SECRET}")).unwrap()
            (await run.follow_up(f"and then {SECRET}")).unwrap()
            outside = StoredSteering(store, secrets=secrets)
            (await outside.submit(run.id, f"never {SECRET}", id="o", kind="follow-up")).unwrap()
            gate.set()
            ended = await run.result()
            events = [event async for event in run.events()]
        rows = await rows_of(store)
    assert f"use {MASK}" in rows
    assert f"use {MASK}" in repr(model.requests)
    assert found_in({"rows": rows, "requests": model.requests, "events": shown(events), "ended": ended}) == []


async def test_a_providers_key_is_a_secret_of_the_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the provider knows it; a word that a local server is sent is none."""
    for layer_of, key in ((openai_model, "sk-openai-0123456789"), (anthropic_model, "sk-ant-0123456789abc")):
        secrets = Secrets()
        binding = agent_with(model_retries=0).on(layer_of("m", base_url="http://127.0.0.1:9/v1", api_key=key))
        async with build(RuntimeBuilder().provide(bind(Secrets).value(secrets)).agent(binding)) as rt:
            ended = await rt.run(binding, f"my key is {key}")
        assert secrets.redact_text(key) == MASK
        assert found_in({"history": ended.failure().report.history}, key) == []
        word = Secrets()
        binding = agent_with(model_retries=0).on(layer_of("m", base_url="http://127.0.0.1:9/v1", api_key="ollama"))
        async with build(RuntimeBuilder().provide(bind(Secrets).value(word)).agent(binding)) as rt:
            await rt.run(binding, "hello")
        assert not word.active


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("told", [True, False], ids=["the stores are told", "the runtime alone knows"])
async def test_no_conversation_session_or_principal_is_named_with_a_secret(
    kind: str, told: bool, tmp_path: Path
) -> None:
    known = "s3cr3t-token"
    secrets, named = Secrets(known), f"chat-{known}"
    binding = Agent("a", instructions="i", policy=policy()).on(ScriptedModel(say("never")))
    async with Place(kind, tmp_path).open() as store:
        opening = running(store, secrets=secrets) if told else running(store, bind(Secrets).value(secrets))
        async with opening as rt:
            by_name, events = await through(rt, binding, "go", True, conversation=named)
            by_principal, more = await through(rt, binding, "go", True, conversation="c", principal=named)
            if told:
                sessions = await rt.run(the_sessions, None)
                made = [await sessions.create(named), await sessions.create("s", principal=named)]
                assert [one.failure().why for one in made] == ["it holds a secret"] * 2
        rows = await rows_of(store)

    whys = [ended.failure().cause.error for ended in (by_name, by_principal)]
    assert [(why.what, why.why) for why in whys] == [
        ("conversation", "it holds a secret"),
        ("principal", "it holds a secret"),
    ]
    assert known not in repr((by_name, by_principal, events, more)) + rows
