"""Calls of real servers on stdio: what comes back, and what becomes of those that go wrong."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import anyio
import attrs
import pytest
from returns.result import Failure, Result

from lamina.call import (
    AudioContent,
    DocumentContent,
    Elicited,
    ImageContent,
    LinkContent,
    TextContent,
)
from lamina.mcp import (
    ConnectionLimits,
    Elicitation,
    McpCall,
    McpCallError,
    McpConnectionLost,
    McpConnections,
    McpMisbehaved,
    McpOutcomeUnknown,
    McpRefused,
    McpTimedOut,
    McpTooLarge,
    McpToolChanged,
    McpToolFailed,
    RemoteResult,
    connect,
)
from tests.unit.mcp.world import QUICK, noted, pids, raw


def call(tool: str, timeout: float | None = None, **arguments: int) -> McpCall:
    return McpCall(server="raw", tool=tool, arguments=arguments, timeout=timeout)


def texts(result: Result[RemoteResult, McpCallError]) -> str:
    return "".join(each.text for each in result.unwrap().contents.content if isinstance(each, TextContent))


async def test_identity_version_and_tools_are_recorded() -> None:
    async with connect(raw()) as connected:
        known = connected.unwrap().server("raw")

    assert known is not None
    assert known.identity is not None
    assert (known.state, known.identity.name, known.identity.version, known.identity.title) == (
        "up",
        "raw",
        "9.1",
        "The raw server",
    )
    assert (known.identity.protocol, known.identity.instructions) == ("2025-11-25", "Be careful.")
    add = known.tool("add")
    assert add is not None
    assert (add.description, add.execution, len(add.digest)) == ("The tool add.", "uncertain", 64)


async def test_a_server_of_the_older_protocol_is_found_out() -> None:
    async with connect(raw(protocol="auto")) as connected:
        result = await connected.unwrap().call(call("add", n=1))

    assert result.unwrap().structured == {"n": 2}


async def test_each_kind_of_content_is_kept() -> None:
    async with connect(raw()) as connected:
        result = await connected.unwrap().call(call("kinds"))

    assert result.unwrap().contents.content == (
        TextContent("words"),
        ImageContent("aGk=", "image/png"),
        AudioContent("aGk=", "audio/wav"),
        DocumentContent(uri="app://a", media_type="text/plain", text="doc"),
        DocumentContent(uri="app://b", blob="aGk="),
        LinkContent(uri="app://c", name="a link"),
    )


async def test_failures_and_refusals_are_told_apart() -> None:
    async with connect(raw()) as connected:
        connections = connected.unwrap()
        failed = await connections.call(call("fail"))
        refused = await connections.call(call("refuse"))
        unknown = await connections.call(call("nothing"))
        broke = await connections.call(call("break"))
        own = await connections.call(call("own_error"))

    assert failed.failure() == McpToolFailed("raw", "fail", (TextContent("the disk is full"),))
    assert str(failed.failure()) == "the disk is full"
    assert refused.failure() == McpRefused("raw", "refuse", -32602, "no such thing")
    assert unknown.failure() == McpRefused("raw", "nothing", -32602, "There is no tool of that name.")
    # What broke under the call, or has an error of its own, may have done something: it is not said to have refused.
    assert broke.failure() == McpToolFailed("raw", "break", (TextContent("something broke"),))
    assert own.failure() == McpToolFailed("raw", "own_error", (TextContent("the disk is full"),))


@pytest.mark.parametrize("tool", ["lie", "bare", "nan"])
async def test_a_server_that_lies_about_its_schema_is_not_quoted(tool: str) -> None:
    async with connect(raw()) as connected:
        connections = connected.unwrap()
        result = await connections.call(call(tool))
        after = await connections.call(call("add", n=1))

    assert result.failure() == McpMisbehaved("raw", tool)
    assert "secret" not in str(result.failure())
    assert after.unwrap().structured == {"n": 2}


@pytest.mark.parametrize("tool", ["big", "big_last"])
async def test_an_answer_of_ten_megabytes_fails_its_own_call_alone(tool: str) -> None:
    async with connect(raw()) as connected:
        connections = connected.unwrap()
        answers: list[Result[RemoteResult, McpCallError]] = []

        async def other() -> None:
            answers.append(await connections.call(call("slow")))

        async with anyio.create_task_group() as group:
            group.start_soon(other)
            result = await connections.call(call(tool))
        after = await connections.call(call("add", n=1))

    assert result.failure() == McpTooLarge("raw", tool, "The answer", 4_194_304)
    assert texts(answers[0]) == "slept"
    assert after.unwrap().structured == {"n": 2}


async def test_a_result_has_a_bound_of_its_own() -> None:
    limits = ConnectionLimits(result_bytes=1_000)
    async with connect(raw(big=1_001, limits=limits)) as connected:
        result = await connected.unwrap().call(call("big"))

    assert result.failure() == McpTooLarge("raw", "big", "The answer", 1_000)


async def test_an_input_that_is_too_large_is_not_sent(tmp_path: Path) -> None:
    async with connect(raw(notes=tmp_path / "notes", limits=ConnectionLimits(message_bytes=4_096))) as connected:
        given = McpCall(server="raw", tool="add", arguments={"n": 1, "x": "y" * 5_000})
        result = await connected.unwrap().call(given)

    assert result.failure() == McpTooLarge("raw", "add", "The input", 4_096)
    assert "call add" not in (tmp_path / "notes").read_text()


async def test_a_line_without_end_ends_the_connection_and_no_more() -> None:
    limits = ConnectionLimits(message_bytes=65_536, call=15, close=0.2, backoff=0.01)
    async with connect(raw(limits=limits)) as connected:
        connections = connected.unwrap()
        result = await connections.call(call("flood"))
        after = await connections.call(call("add", n=1))

    assert result.failure() == McpOutcomeUnknown("raw", "flood", "it sent a message of more than 65536 bytes")
    assert after.unwrap().structured == {"n": 2}


async def test_what_is_no_message_is_passed_over() -> None:
    async with connect(raw("noise")) as connected:
        result = await connected.unwrap().call(call("garbage"))

    assert texts(result) == "after it"


@pytest.mark.anyio
async def test_a_server_that_dies_under_a_call_leaves_it_unknown_and_comes_back(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connect(raw(notes=notes)) as connected:
        connections = connected.unwrap()
        died = await connections.call(call("die"))
        after = await connections.call(call("add", n=1))

    assert died.failure() == McpOutcomeUnknown("raw", "die", "it exited with code 3")
    assert after.unwrap().structured == {"n": 2}
    assert notes.read_text().count("call die") == 1
    assert len(pids(notes)) == 2


async def test_a_server_that_dies_is_lost_though_its_child_holds_its_output() -> None:
    async with connect(raw(limits=attrs.evolve(QUICK, call=60))) as connected:
        connections = connected.unwrap()
        with anyio.fail_after(20):
            result = await connections.call(call("held"))
            after = await connections.call(call("add", n=1))

    assert result.failure() == McpOutcomeUnknown("raw", "held", "it exited with code 6")
    assert after.unwrap().structured == {"n": 2}


async def test_calls_in_flight_share_the_loss(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    answers: list[Result[RemoteResult, McpCallError]] = []
    async with connect(raw(notes=notes)) as connected:
        connections = connected.unwrap()

        async def hang() -> None:
            answers.append(await connections.call(call("hang")))

        async with anyio.create_task_group() as group:
            group.start_soon(hang)
            group.start_soon(hang)
            await noted(notes, "call hang", 2)
            await connections.call(call("die"))

    assert [answer.failure() for answer in answers] == [
        McpOutcomeUnknown("raw", "hang", "it exited with code 3"),
        McpOutcomeUnknown("raw", "hang", "it exited with code 3"),
    ]


async def test_a_call_that_may_be_repeated_is_repeated_once(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connect(raw("idempotent", notes=notes, trust_annotations=True)) as connected:
        result = await connected.unwrap().call(call("die_once"))

    assert texts(result) == "alive"
    assert notes.read_text().count("call die_once") == 2


async def test_who_is_not_trusted_is_not_believed(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connect(raw("idempotent", notes=notes)) as connected:
        result = await connected.unwrap().call(call("die_once"))

    assert isinstance(result.failure(), McpOutcomeUnknown)
    assert notes.read_text().count("call die_once") == 1


async def test_a_server_that_closes_its_output_is_lost() -> None:
    async with connect(raw()) as connected:
        result = await connected.unwrap().call(call("close_out"))

    assert result.failure() == McpOutcomeUnknown("raw", "close_out", "it closed its input or its output")


@pytest.mark.anyio
async def test_a_call_has_its_time_and_the_server_is_told(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connect(raw(notes=notes)) as connected:
        result = await connected.unwrap().call(call("hang", timeout=0.2))
        await noted(notes, "hang cancelled")

    assert result.failure() == McpOutcomeUnknown("raw", "hang", "there was no answer within 0.2 s")


async def test_a_call_that_may_be_repeated_and_is_late_had_no_effect_that_matters() -> None:
    async with connect(raw("idempotent", trust_annotations=True)) as connected:
        result = await connected.unwrap().call(call("hang", timeout=0.2))

    assert result.failure() == McpTimedOut("raw", "hang", 0.2)


@pytest.mark.anyio
async def test_a_caller_that_is_cancelled_leaves_and_the_server_stops(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connect(raw(notes=notes)) as connected:
        connections = connected.unwrap()
        async with anyio.create_task_group() as group:
            group.start_soon(connections.call, call("hang"))
            await noted(notes, "call hang")
            group.cancel_scope.cancel()
        await noted(notes, "hang cancelled")
        after = await connections.call(call("add", n=1))

    assert after.unwrap().structured == {"n": 2}


async def test_calls_run_side_by_side_up_to_their_limit(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connect(raw(notes=notes, limits=ConnectionLimits(concurrent_calls=2, call=15))) as connected:
        connections = connected.unwrap()
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(connections.call, call("hang"))
            await noted(notes, "call hang", 2)
            late = await connections.call(call("add", timeout=0.2, n=1))
            group.cancel_scope.cancel()

    # It never went out, so it is known to have had no effect.
    assert late.failure() == McpTimedOut("raw", "add", 0.2)
    assert notes.read_text().count("call hang") == 2


async def test_progress_reaches_the_call_it_belongs_to() -> None:
    told: list[tuple[float, float | None, str]] = []

    async def tell(done: float, total: float | None, message: str) -> None:
        told.append((done, total, message))

    async with connect(raw()) as connected:
        result = await connected.unwrap().call(McpCall(server="raw", tool="progress", progress=tell))

    assert texts(result) == "finished"
    assert told[-1] == (3.0, 3.0, "step")
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)


async def test_a_question_is_refused_unless_somebody_answers() -> None:
    async with connect(raw()) as connected:
        refused = await connected.unwrap().call(call("ask"))

    assert json.loads(texts(refused))["message"] == "Elicitation not supported"


async def test_a_question_is_answered_with_the_forms_own_defaults() -> None:
    asked: list[Elicitation] = []

    async def answer(question: Elicitation) -> Elicited:
        asked.append(question)
        return Elicited("accept", {"name": "Ada"})

    async with connect(raw(elicit=answer)) as connected:
        answered = await connected.unwrap().call(call("ask"))

    assert json.loads(texts(answered)) == {"action": "accept", "content": {"name": "Ada", "city": "Rome"}}
    assert (asked[0].server, asked[0].message, asked[0].url) == ("raw", "Who?", None)


async def test_a_server_does_not_ask_without_end() -> None:
    asked: list[Elicitation] = []

    async def answer(question: Elicitation) -> Elicited:
        asked.append(question)
        return Elicited("accept")

    async with connect(raw(elicit=answer, limits=ConnectionLimits(questions=3, call=15))) as connected:
        first, second = [texts(await connected.unwrap().call(call("nag"))) for _ in range(2)]

    assert first == second == "4: Too many questions"
    assert len(asked) == 6


async def test_an_answerer_that_breaks_tells_the_server_nothing() -> None:
    async def answer(question: Elicitation) -> Elicited:
        raise ValueError("secret")

    async with connect(raw(elicit=answer)) as connected:
        answered = await connected.unwrap().call(call("ask"))

    assert "secret" not in texts(answered)


async def test_a_process_sees_only_what_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOP_SECRET_OF_OURS", "x")
    monkeypatch.setenv("HOME", "/a/home")
    server = raw(inherit=("HOME",), secret_env={"TOKEN": "t0ken-t0ken"})
    async with connect(server) as connected:
        seen = json.loads(texts(await connected.unwrap().call(call("env"))))

    assert {name: seen.get(name) for name in ("HOME", "TOKEN", "TOP_SECRET_OF_OURS", "PATH")} == {
        "HOME": "/a/home",
        "TOKEN": "t0ken-t0ken",
        "TOP_SECRET_OF_OURS": None,
        "PATH": None,
    }
    assert "t0ken" not in repr(server)


async def test_a_list_that_has_changed_refuses_what_was_bound(tmp_path: Path) -> None:
    async with connect(raw()) as connected:
        connections = connected.unwrap()
        known = connections.server("raw")
        assert known is not None
        two = known.tool("two")
        assert two is not None
        await connections.call(call("rename"))
        gone = await connections.call(McpCall(server="raw", tool="two", digest=two.digest))
        renamed = await connections.call(call("renamed"))

    assert gone.failure() == McpToolChanged("raw", "two", "it is not there any more")
    assert texts(renamed) == "renamed"


async def test_schemas_that_have_not_changed_are_not_read_again() -> None:
    async with connect(raw()) as connected:
        connections = connected.unwrap()
        before = connections.server("raw")
        await connections.call(call("rename"))
        await connections.call(call("renamed"))
        after = connections.server("raw")

    assert before is not None
    assert after is not None
    assert after.tool("renamed") is not None
    kept, again = before.tool("add"), after.tool("add")
    assert kept is not None
    assert again is not None
    assert kept.schemas is not None
    assert again is not kept
    assert again.schemas is kept.schemas


async def test_a_server_that_renames_and_does_not_say_so_refuses_the_call_itself() -> None:
    async with connect(raw("quiet")) as connected:
        connections = connected.unwrap()
        await connections.call(call("rename"))
        result = await connections.call(call("two"))

    assert isinstance(result.failure(), McpRefused)


async def test_another_schema_under_the_same_name_is_another_tool() -> None:
    async with connect(raw("reschema=1")) as connected:
        connections = connected.unwrap()
        known = connections.server("raw")
        assert known is not None
        slow = known.tool("slow")
        assert slow is not None
        before = await connections.call(McpCall(server="raw", tool="slow", digest=slow.digest))
        await connections.call(call("reschema"))
        result = await connections.call(McpCall(server="raw", tool="slow", digest=slow.digest))

    assert texts(before) == "slept"
    assert result.failure() == McpToolChanged("raw", "slow", "its schema is another one")


async def test_an_unknown_server_is_a_failure_and_no_exception() -> None:
    async with connect(raw()) as connected:
        connections: McpConnections = connected.unwrap()
        result = await connections.call(McpCall(server="other", tool="add"))

    assert connections.names == ("raw",)
    assert result.failure() == McpConnectionLost("other", "there is no server of that name")


async def test_after_the_close_there_is_no_connection() -> None:
    async with connect(raw()) as connected:
        connections = connected.unwrap()
    result = await connections.call(call("add", n=1))

    assert isinstance(result, Failure)
    assert result.failure() == McpConnectionLost("raw", "it is closed")


async def test_what_a_server_writes_to_its_errors_is_only_in_our_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "lamina")
    async with connect(raw("exit", limits=QUICK)) as connected:
        assert "hunter2" not in str(connected.failure())

    assert any("hunter2" in str(record.__dict__) for record in caplog.records)


async def test_what_a_server_is_told_in_secret_is_not_in_our_log_either(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "lamina")
    async with connect(raw("exit", secret_env={"TOKEN": "tok-0123456789"})) as connected:
        assert isinstance(connected, Failure)

    said = [str(record.__dict__) for record in caplog.records]
    assert any("hunter2" in text for text in said)
    assert not any("tok-0123456789" in text for text in said)
