"""`lamina run` and `lamina check` as processes: exit codes, texts, JSON, and Ctrl-C in the middle of a run."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.e2e.terminal import LAMINA, PATIENCE, Terminal, environment, lamina_without, run_lamina

# An application whose tools wait for a file: the test says when they may go on.
SLOW = '''
import asyncio
import sys
from pathlib import Path
from typing import Never

import attrs

from lamina.agent import Agent, AgentPolicy
from lamina.effect import Try
from lamina.runtime import RuntimeBuilder
from lamina.testing import ScriptedModel, call_tool, say
from lamina.tools import tool


@attrs.frozen
class Wait:
    pass


@tool.simple(execution="readonly")
async def quick() -> str:
    """Answer at once."""
    return "here"


@tool(execution="readonly")
async def slow_read(call: Wait, ok: Try[Never]) -> str:
    """Wait for ever."""
    await asyncio.Event().wait()
    return "never"


@tool(execution="uncertain")
async def slow_write(call: Wait, ok: Try[Never]) -> str:
    """Wait for ever."""
    print("the write has begun", file=sys.stderr, flush=True)
    await asyncio.Event().wait()
    return "never"


@tool(execution="uncertain")
async def stubborn(call: Wait, ok: Try[Never]) -> str:
    """Wind down for as long as a file is missing."""
    print("stubborn has begun", file=sys.stderr, flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        print("winding down", file=sys.stderr, flush=True)
        while not Path("let-go").exists():
            await asyncio.sleep(0.01)
    return "never"


policy = AgentPolicy(max_turns=3, max_tool_calls=9, max_duration=600, tool_concurrency=9)


def agent(name, kit, *turns):
    return Agent(name, instructions="Wait.", policy=policy, toolkit=kit).on(ScriptedModel(*turns))


app = (
    RuntimeBuilder()
    .agent(agent("slow", quick | slow_read | slow_write,
                 call_tool("quick") & call_tool("slow_read") & call_tool("slow_write"), say("done")))
    .agent(agent("stubborn", stubborn, call_tool("stubborn"), say("done")))
    .agent(agent("talker", quick, say("hello")))
    .agent(agent("lengthy", quick, say("word " * 40 + "end")))
    .agent(agent("hostile", quick, say("[bold]no markup[/bold] \\x1b[2J\\x07\\u202e and \\x9b2J")))
)
'''

TYPED = """
import attrs

from lamina.agent import Agent, AgentPolicy
from lamina.runtime import RuntimeBuilder
from lamina.testing import ScriptedModel, fail, say
from lamina.model import Authentication


@attrs.frozen
class Order:
    item: str
    count: int


policy = AgentPolicy(max_turns=3, max_tool_calls=9, max_duration=600, tool_concurrency=9)
buyer = Agent("buyer", instructions="Buy.", policy=policy, input=Order)
app = RuntimeBuilder().agent(buyer.on(ScriptedModel(say("bought"))))
failing = RuntimeBuilder().agent(Agent("f", instructions="x", policy=policy).on(ScriptedModel(fail(Authentication()))))
number = 7
"""


@pytest.fixture(autouse=True)
def copies_go_with_the_test(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("t")))


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    (tmp_path / "slow.py").write_text(SLOW)
    return tmp_path


@pytest.fixture
def typed(tmp_path: Path) -> Path:
    (tmp_path / "orders.py").write_text(TYPED)
    return tmp_path


# --- check ----------------------------------------------------------------------------------------------------------


def test_check_names_what_is_missing_who_needs_it_and_the_line_to_write() -> None:
    done = run_lamina("check", "lamina.demo.incomplete:app")

    assert done.returncode == 1
    first, blank, kind, line, write = done.stdout.splitlines()
    assert first == "lamina.demo.incomplete:app cannot be built: 1 problem."
    assert (blank, kind) == ("", "MISSING Approval")
    tool, agent = line.split(", in ")
    assert tool.startswith("  tool write_label (needs_approval) ")
    file, number = tool.rsplit(":", 1)
    source = Path(file.split()[-1])
    assert "needs_approval=True" in "".join(source.read_text().splitlines(keepends=True)[int(number) - 1 :][:4])
    assert agent.startswith('agent "triage"  ')
    assert "_agent.py:" in agent
    assert write.startswith("  write: | bind(Approval).")
    assert done.stderr == ""


def test_check_says_what_it_looked_at() -> None:
    done = run_lamina("check", "lamina.demo:app")

    assert done.returncode == 0
    assert done.stdout.startswith("lamina.demo:app is complete: 3 services, 1 agent, 4 tools.\n")
    assert "write_label (uncertain, needs approval)" in done.stdout
    assert "unused    nothing" in done.stdout


def test_check_lists_what_nobody_needs(tmp_path: Path) -> None:
    (tmp_path / "extra.py").write_text(
        "from lamina.demo import app as demo\nfrom lamina.effect import layer\n"
        "class Spare: ...\napp = demo.provide(layer(Spare))\n"
    )

    done = run_lamina("check", "extra:app", cwd=tmp_path)

    assert done.returncode == 0
    assert "unused    layer Spare  extra.py:4" in done.stdout


@pytest.mark.parametrize(("app", "code"), [("lamina.demo:app", 0), ("lamina.demo.incomplete:app", 1)])
def test_check_draws_the_graph(app: str, code: int) -> None:
    done = run_lamina("check", app, "--mermaid")

    assert done.returncode == code
    assert done.stdout.startswith("graph TD\n")
    assert ("MISSING Approval" in done.stderr) == (code == 1)


def test_check_reports_what_a_module_cannot_even_put_together(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "from lamina.tools import tool\n@tool()\nasync def buy(call):\n    return 1\napp = None\n"
    )

    done = run_lamina("check", "broken:app", cwd=tmp_path)

    assert done.returncode == 1
    assert "SIGNATURE tool buy" in done.stdout
    assert "broken.py:2" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


# --- run ------------------------------------------------------------------------------------------------------------


def test_run_gives_json_lines_and_the_result(slow: Path) -> None:
    done = run_lamina("run", "slow:app", "talker", "hello", "--json", cwd=slow)
    lines = [json.loads(line) for line in done.stdout.splitlines()]

    assert done.returncode == 0, done.stderr
    assert [line["event"] for line in lines[:-1]][:3] == ["RunStarted", "TurnStarted", "ModelStarted"]
    assert all(line["agent"] == "talker" for line in lines[:-1])
    assert lines[-1]["result"] == "completed"
    assert lines[-1]["output"] == "hello"
    assert lines[-1]["usage"]["input_tokens"] == 10


def test_run_shows_a_timeline_without_a_terminal(slow: Path) -> None:
    done = run_lamina("run", "slow:app", "talker", "hello", cwd=slow)

    assert done.returncode == 0
    assert done.stdout.splitlines()[:2] == ["talker · its own model", "turn 1  the answer"]
    assert "\nhello\n" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("completed · 1 turn · 0 calls · 15 tokens · ")


def test_nothing_of_a_models_text_reaches_the_terminal_but_characters(slow: Path) -> None:
    human = run_lamina("run", "slow:app", "hostile", "x", cwd=slow).stdout
    machine = run_lamina("run", "slow:app", "hostile", "x", "--json", cwd=slow).stdout
    with Terminal("run", "slow:app", "hostile", "x", cwd=slow) as terminal:
        assert terminal.end() == 0

    assert "[bold]no markup[/bold] �[2J�� and �2J" in human
    for text in (human, machine):
        assert [one for one in text if not (one.isprintable() or one == "\n")] == []
    assert "\x1b[2J" not in terminal.raw
    assert "\x9b" not in terminal.raw
    assert "\u202e" not in terminal.raw


def test_an_input_of_another_type_is_json(typed: Path) -> None:
    good = run_lamina("run", "orders:app", '{"item": "tea", "count": 2}', "--json", cwd=typed)
    piped = run_lamina("run", "orders:app", "-", cwd=typed, given='{"item": "tea", "count": 2}')
    wrong = run_lamina("run", "orders:app", '{"item": 1}', cwd=typed)

    assert good.returncode == piped.returncode == 0
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("lamina: The input does not fit agent buyer, which takes JSON:\n")
    assert "$.item" in wrong.stderr
    assert "$.count" in wrong.stderr


@pytest.mark.parametrize("handler", ["strict", "surrogateescape"])
def test_an_input_that_is_no_text_is_refused(slow: Path, handler: str) -> None:
    done = subprocess.run(
        [*LAMINA, "run", "slow:app", "talker", "-"],
        input=b"\xff\xfe",
        capture_output=True,
        cwd=slow,
        env=environment(PYTHONIOENCODING=f"utf-8:{handler}"),
        timeout=PATIENCE,
    )

    assert (done.returncode, done.stderr) == (2, b"lamina: The input is no UTF-8 text.\n")


def test_an_answer_is_never_broken_into_lines_in_a_pipe(slow: Path) -> None:
    done = run_lamina("run", "slow:app", "lengthy", "x", cwd=slow)

    assert f"\n{'word ' * 40}end\n" in done.stdout


def test_the_version_is_told() -> None:
    assert run_lamina("--version").stdout == f"lamina {version('lamina')}\n"


def test_a_failed_run_ends_with_one_and_its_reason(typed: Path) -> None:
    done = run_lamina("run", "orders:failing", "x", cwd=typed)
    machine = run_lamina("run", "orders:failing", "x", "--json", cwd=typed)

    assert done.returncode == machine.returncode == 1
    assert "\nModelError: " in done.stdout
    assert done.stdout.splitlines()[-1].startswith("failed · ")
    last = json.loads(machine.stdout.splitlines()[-1])
    assert (last["result"], last["error"]["_tag"]) == ("failed", "ModelError")


def test_an_application_with_problems_is_not_run() -> None:
    done = run_lamina("run", "lamina.demo.incomplete:app", "x")

    assert done.returncode == 2
    assert "MISSING Approval" in done.stderr
    assert done.stdout == ""


MISTAKES = [
    (("run", "orders", "x"), "lamina: 'orders' is not MODULE:APP.\n  Write MODULE:APP, as in lamina.demo:app;"),
    (("run", "orders.py:app", "x"), "lamina: orders.py is a file, not a module.\n  Write orders:app\n"),
    (("run", "order:app", "x"), "lamina: There is no module order.\n  There is orders.\n"),
    (("run", "zzz:app", "x"), "lamina: There is no module zzz.\n  Here there is orders.\n"),
    (("run", "lamina.dem:app", "x"), "lamina: There is no module lamina.dem.\n  There is lamina.demo.\n"),
    (("run", "orders:ap", "x"), "lamina: The module orders has no ap.\n  There is orders:app.\n"),
    (
        ("run", "orders:numbe", "x"),
        "lamina: The module orders has no numbe.\n  A RuntimeBuilder there is orders:",
    ),
    (("run", "orders:zzz", "x"), "lamina: The module orders has no zzz.\n  A RuntimeBuilder there is orders:app,"),
    (
        ("run", "orders:number", "x"),
        "lamina: orders:number is of type int, not a RuntimeBuilder.\n  A RuntimeBuilder there",
    ),
    (("run", "orders:app", "buyr", "x"), "lamina: orders:app has no agent 'buyr'.\n  There is buyer.\n"),
    (("run", "orders:app", "buyer"), 'lamina: The input is missing.\n  Write: lamina run orders:app buyer "…"\n'),
    (("run", "orders:app", "buyer", "x", "y"), "lamina: There are too many words: put the input into quotes.\n"),
    (("run", "orders:app", "x", "--model", "gpt"), "lamina: There is no model 'gpt'.\n  Write scripted, local,"),
    (("run", "orders:app", "x", "--model", "openai"), "lamina: --model openai needs a model's name.\n"),
    (("run", "orders:app", "x", "--model", "scripted"), "lamina: --model scripted is the demo's own.\n"),
    (("run", "orders:app", "x", "--base-url", "http://x"), "lamina: --base-url says where a model is, but not which."),
    (("run", "syntax:app", "x"), "lamina: "),
    (("run", "raises:app", "x"), "lamina: raises could not be imported: ZeroDivisionError: division by zero\n  at "),
    (("run", "imports:app", "x"), "lamina: imports imports nosuchpackage, which is not installed.\n  at "),
    (("run", "exits:app", "x"), "lamina: exits ended the program while it was imported.\n"),
    (("nonsense",), "lamina: "),
    ((), "lamina: The following arguments are required: COMMAND.\n  Usage: lamina"),
    (("run", "orders:app", "x", "--log", "no/such/folder/log"), "lamina: The log cannot be written to no/such/folder"),
]


@pytest.mark.parametrize(("arguments", "told"), [pytest.param(*one, id=" ".join(one[0])) for one in MISTAKES])
def test_a_mistake_is_told_in_words(typed: Path, arguments: tuple[str, ...], told: str) -> None:
    (typed / "broken").mkdir()
    if "zzz:app" not in arguments:  # it lists what is here
        (typed / "syntax.py").write_text("def (:\n")
        (typed / "raises.py").write_text("1 / 0\n")
        (typed / "imports.py").write_text("import nosuchpackage\n")
        (typed / "exits.py").write_text("raise SystemExit(3)\n")

    done = run_lamina(*arguments, cwd=typed)

    assert done.returncode == 2
    assert done.stderr.startswith(told)
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_the_key_that_a_provider_needs_is_asked_for(typed: Path) -> None:
    done = run_lamina("run", "orders:app", "{}", "--model", "openai:gpt-5", cwd=typed, extra={"OPENAI_API_KEY": ""})

    assert done.returncode == 2
    assert done.stderr.startswith(
        "lamina: The model openai:gpt-5 cannot be used here without OPENAI_API_KEY.\n  export "
    )
    assert "Traceback" not in done.stderr


def test_an_address_that_is_none_is_told_as_what_it_is(typed: Path) -> None:
    done = run_lamina("run", "orders:failing", "x", "--model", "openai:m", "--base-url", "127.0.0.1:1/v1", cwd=typed)

    assert (done.returncode, done.stderr) == (
        2,
        "lamina: The model openai:m cannot be used here: base_url: it begins with http:// or https://, and a host.\n",
    )


def test_without_rich_the_command_says_what_to_install() -> None:
    done = run_lamina("demo", command=lamina_without("rich"))

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'The command needs rich: pip install "lamina[cli]"\n'


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["people", "json"])
def test_a_reader_that_leaves_ends_the_command_without_a_word(options: tuple[str, ...]) -> None:
    process = subprocess.Popen(
        [*LAMINA, "demo", "--model", "scripted", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()

    assert process.wait(timeout=PATIENCE) == 141
    assert said == b""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_no_harm(closed: str) -> None:
    command = f"exec {shlex.join([*LAMINA, 'demo', '--model', 'scripted'])} {closed}"

    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=environment())

    assert (done.returncode, done.stderr) == (0, "")


def test_a_stream_that_knows_no_unicode_gets_ascii(slow: Path) -> None:
    done = run_lamina("run", "slow:app", "hostile", "x", cwd=slow, extra={"PYTHONIOENCODING": "ascii"})

    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "completed - 1 turn" in done.stdout


# --- Ctrl-C ---------------------------------------------------------------------------------------------------------


def test_an_interrupted_run_tells_the_outcome_of_each_call(slow: Path) -> None:
    process = subprocess.Popen(
        [*LAMINA, "run", "slow:app", "slow", "go", "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=slow,
        env=environment(),
        text=True,
    )
    with process:
        assert process.stdout is not None
        lines: list[dict[str, object]] = []
        for text in process.stdout:
            lines.append(json.loads(text))
            kinds = [line.get("event") for line in lines]
            if kinds.count("ToolCallStarted") == 3 and "ToolCallSucceeded" in kinds and "sent" not in kinds:
                process.send_signal(signal.SIGINT)
                lines.append({"event": "sent"})
        code = process.wait(timeout=PATIENCE)

    assert code == 130
    failed = {line["tool"]: line["outcome"] for line in lines if line.get("event") == "ToolCallFailed"}
    assert failed == {"slow_read": "ToolDefect", "slow_write": "ToolUnknownOutcome"}
    assert lines[-2]["event"] == "RunStopped"
    assert lines[-1]["result"] == "interrupted"


def test_ctrl_c_at_a_terminal_shows_the_outcomes(slow: Path) -> None:
    with Terminal("run", "slow:app", "slow", "go", cwd=slow) as terminal:
        terminal.expect("✓ quick()")
        terminal.expect("the write has begun\n")
        terminal.type("\x03")
        code = terminal.end()

    text = " ".join(terminal.text.split())
    assert code == 130
    assert "✗ slow_read() The call was interrupted; it only reads, so it had no effect." in text
    assert "? slow_write() The call had started when it was interrupted. It may have taken effect, or not" in text
    assert terminal.text.splitlines()[-1].startswith("interrupted · 1 turn · 3 calls · ")
    assert "Traceback" not in text


def test_ctrl_c_while_a_question_is_asked() -> None:
    with Terminal("demo", "--model", "scripted") as terminal:
        terminal.expect("Allow it? [y/n] ")
        terminal.type("\x03")
        code = terminal.end()

    text = " ".join(terminal.text.split())
    assert code == 130
    assert "∅ write_label(04-sync-log-holds-my-password.md, security) The call was cancelled before it started" in text
    assert terminal.text.splitlines()[-1].startswith("interrupted · 4 turns · 11 calls · ")


def test_a_second_ctrl_c_waits_for_the_outcomes_and_a_third_does_not(slow: Path) -> None:
    with Terminal("run", "slow:app", "stubborn", "go", cwd=slow) as terminal:
        terminal.expect("stubborn has begun")
        terminal.type("\x03")
        terminal.expect("winding down")
        terminal.type("\x03")
        terminal.expect("Every call gets its outcome first; Ctrl-C again ends without.")
        (slow / "let-go").touch()
        code = terminal.end()
    assert code == 130
    assert "? stubborn()" in terminal.text
    assert terminal.text.splitlines()[-1].startswith("interrupted · 1 turn · 1 call · ")

    (slow / "let-go").unlink()
    with Terminal("run", "slow:app", "stubborn", "go", cwd=slow) as terminal:
        terminal.expect("stubborn has begun")
        terminal.type("\x03")
        terminal.expect("winding down")
        terminal.type("\x03")
        terminal.expect("Every call gets its outcome first")
        terminal.type("\x03")
        assert terminal.end() == 130


def test_ctrl_c_while_the_application_opens(slow: Path) -> None:
    (slow / "opening.py").write_text(
        "import asyncio, sys\nfrom collections.abc import AsyncIterator\nfrom lamina.effect import scoped\n"
        "from slow import app as other\nclass Db: ...\n"
        "async def db() -> AsyncIterator[Db]:\n"
        "    print('opening', file=sys.stderr, flush=True)\n"
        "    try:\n        await asyncio.Event().wait()\n        yield Db()\n"
        "    finally:\n        print('released', file=sys.stderr, flush=True)\n"
        "app = other.provide(scoped(db))\n"
    )
    with Terminal("run", "opening:app", "talker", "x", cwd=slow) as terminal:
        terminal.expect("opening\n")
        terminal.type("\x03")
        code = terminal.end()

    assert code == 130
    assert "released\n" in terminal.text
    assert terminal.text.splitlines()[-1] == "lamina: Interrupted."


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["people", "json"])
def test_output_that_cannot_be_written_is_told_in_words(tmp_path: Path, options: tuple[str, ...]) -> None:
    run_lamina("run", "lamina.demo.refunds:app", "hello", "--session", "a", cwd=tmp_path)

    for command in (("run", "lamina.demo.refunds:app", "hello", "--session", "a"), ("sessions", "list")):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(  # noqa: S603 - our own command
                [*LAMINA, *command, *options],
                cwd=tmp_path,
                env=environment(),
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        told = [line for line in done.stderr.splitlines() if not line.startswith("lamina: The session a goes on")]
        assert (done.returncode, told) == (1, ["lamina: The output cannot be written: No space left on device."])
    # The run that nobody could read was ended all the same, and the session is free.
    assert run_lamina("run", "lamina.demo.refunds:app", "again", "--session", "a", cwd=tmp_path).returncode == 0
