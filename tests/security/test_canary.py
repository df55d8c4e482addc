"""What a handler's exception says is found nowhere but in the application's own log (design §2.3)."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Never

import attrs
import pytest
from returns.result import Failure

from lamina.agent import Agent, AgentPolicy
from lamina.approval import Approval, ApprovalRequest, Ask
from lamina.call import Authorization, AuthorizationRequest
from lamina.conversation import Journal, MemoryJournal
from lamina.effect import Layer, Try, bind
from lamina.engine import PolicyExceeded, RunEvent
from lamina.runtime import RuntimeBuilder, build
from lamina.testing import ScriptedModel, call_tool, say
from lamina.tools import tool
from tests.e2e.terminal import Terminal, run_lamina

CANARY = "canary-6f1d0c"


@attrs.frozen
class Nothing:
    pass


@tool(execution="readonly")
async def leak(call: Nothing, ok: Try[Never]) -> str:
    """Raise."""
    raise ValueError(CANARY)


@tool(execution="readonly")
async def nested(call: Nothing, ok: Try[Never]) -> str:
    """Raise one from another, with notes."""
    error = RuntimeError(f"{CANARY} outer")
    error.add_note(f"{CANARY} note")
    raise error from ValueError(CANARY)


@tool(execution="readonly")
async def group(call: Nothing, ok: Try[Never]) -> str:
    """Raise a group."""
    raise ExceptionGroup(CANARY, [ValueError(CANARY)])


@tool(execution="readonly")
async def wrong(call: Nothing, ok: Try[Never]) -> int:
    """Break the output schema."""
    return CANARY  # type: ignore[return-value]


def _broken(_: Nothing) -> str:
    raise ValueError(CANARY)


@tool(needs_approval=True, approval=Ask[Nothing](summary=_broken))
async def unaskable(call: Nothing, ok: Try[Never]) -> str:
    """Cannot say what it does."""
    return "ran"


@tool(needs_approval=True, approval=Ask[Nothing](recoverable=True))
async def asked(call: Nothing, ok: Try[Never]) -> str:
    """Is asked of a broken approval service."""
    return "ran"


def _unavailable() -> bool:
    raise ValueError(CANARY)


@tool(execution="readonly", available=_unavailable)
async def gone(call: Nothing, ok: Try[Never]) -> str:
    """Its predicate breaks."""
    return "ran"


class BrokenApproval(Approval):
    async def request(self, request: ApprovalRequest) -> Never:
        raise ValueError(CANARY)


class BrokenAuthorization(Authorization):
    async def authorize(self, request: AuthorizationRequest) -> Never:
        raise ValueError(CANARY)


KIT = leak | nested | group | wrong | unaskable | asked | gone
NAMES = [one.name for one in KIT]
POLICY = AgentPolicy(max_turns=9, max_tool_calls=30, max_duration=60, tool_concurrency=2, repeated_failure_limit=2)


def scripted() -> ScriptedModel:
    every = call_tool("leak")
    for name in NAMES[1:]:
        every = every & call_tool(name)
    return ScriptedModel(every, every)


@pytest.mark.parametrize("extra", [None, bind(Authorization).to(BrokenAuthorization)], ids=["plain", "authorization"])
@pytest.mark.parametrize("observed", [True, False])
async def test_an_exceptions_text_is_in_the_log_alone(
    extra: Layer[Never, Authorization, Never] | None, observed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    model, journal = scripted(), MemoryJournal()
    agent = Agent("a", instructions="Try it all.", policy=POLICY, toolkit=KIT)
    binding = agent.on(model)
    app = bind(Journal).value(journal) | bind(Approval).to(BrokenApproval)
    builder = RuntimeBuilder().provide(app).agent(binding)
    builder = builder if extra is None else builder.provide(extra)
    events: list[RunEvent] = []

    async with build(builder) as rt:
        if observed:
            async with rt.start(binding, "go") as run:
                events = [event async for event in run.events()]
                ended = await run.result()
        else:
            ended = await rt.run(binding, "go")

    assert isinstance(ended, Failure)
    failure = ended.failure()
    assert failure.cause == PolicyExceeded("repeated-failures")
    assert len(model.requests) == 2
    assert len(journal.records) > 2 * len(NAMES) - 2
    for text in (str(failure), repr(failure), repr(failure.report.history), repr(failure.cause)):
        assert CANARY not in text
    assert CANARY not in repr(model.requests)
    assert CANARY not in repr(journal.records)
    assert CANARY not in repr(events)
    assert CANARY not in json.dumps([event.to_json() for event in events])
    assert bool(events) is observed
    # The log has all of it, under the one name, with the traceback.
    formatter = logging.Formatter()
    logged = [(record.name, formatter.format(record)) for record in caplog.records]
    assert {name for name, _ in logged} == {"lamina"}
    assert any(CANARY in text and "Traceback" in text for _, text in logged)


async def test_a_model_and_instructions_that_raise_are_withheld_too(caplog: pytest.LogCaptureFixture) -> None:
    def instructions(given: str) -> str:
        raise ValueError(CANARY)

    class Broken(ScriptedModel):
        async def generate(self, request: object) -> Never:
            raise ValueError(CANARY)

        async def stream(self, request: object, emit: object) -> Never:
            raise ValueError(CANARY)

    first = Agent("first", instructions=instructions, policy=POLICY).on(ScriptedModel(say("x")))
    second = Agent("second", instructions="x", policy=POLICY).on(Broken())

    async with build(RuntimeBuilder().agent(first).agent(second)) as rt:
        for binding in (first, second):
            async with rt.start(binding, "go") as run:
                events = [event async for event in run.events()]
                ended = await run.result()
            assert isinstance(ended, Failure)
            assert CANARY not in repr(ended) + str(ended.failure()) + repr(events)
    assert caplog.text.count(f"ValueError: {CANARY}") == 2


APP = f'''
from typing import Never
import attrs
from lamina.agent import Agent, AgentPolicy
from lamina.effect import Try, layer
from lamina.runtime import RuntimeBuilder
from lamina.testing import ScriptedModel, call_tool, say
from lamina.tools import tool

@attrs.frozen
class Nothing: ...

@tool(execution="readonly")
async def leak(call: Nothing, ok: Try[Never]) -> str:
    """Raise."""
    raise ValueError("{CANARY}")

policy = AgentPolicy(max_turns=9, max_tool_calls=30, max_duration=60, tool_concurrency=2)
binding = Agent("a", instructions="x", policy=policy, toolkit=leak).on(ScriptedModel(call_tool("leak"), say("done")))
app = RuntimeBuilder().agent(binding)

class Refusing:
    def __init__(self) -> None:
        raise ValueError("{CANARY}")

closed = app.provide(layer(Refusing))
'''


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["people", "json"])
def test_the_command_shows_it_nowhere_and_writes_it_to_the_log_it_is_given(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    (tmp_path / "leaky.py").write_text(APP)

    silent = run_lamina("run", "leaky:app", "x", *options, cwd=tmp_path)
    logging_too = run_lamina("run", "leaky:app", "x", "--log", "app.log", *options, cwd=tmp_path)
    with Terminal("run", "leaky:app", "x", *options, cwd=tmp_path) as terminal:
        assert terminal.end() == 0

    assert silent.returncode == logging_too.returncode == 0
    assert "The tool broke while it ran; nothing more is known." in silent.stdout
    for text in (silent.stdout, silent.stderr, logging_too.stdout, logging_too.stderr, terminal.raw):
        assert "canary" not in text
        assert "ValueError" not in text
        assert "Traceback" not in text
    log = (tmp_path / "app.log").read_text()
    assert f"ValueError: {CANARY}" in log
    assert "Traceback" in log


def test_a_service_that_cannot_be_made_is_named_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "leaky.py").write_text(APP)

    done = run_lamina("run", "leaky:closed", "x", "--log", "app.log", cwd=tmp_path)

    assert done.returncode == 2
    assert "canary" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert CANARY in (tmp_path / "app.log").read_text()
