"""`lamina run --session` and `lamina sessions`: what is remembered, shown, forked and exported, and what is refused."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from returns.result import Success

from lamina.conversation import Tail, verify_export
from tests.stores import fingerprint
from tests.unit.cli.commands import APP, Commands, lamina

__all__ = ["lamina"]


def test_a_session_goes_on_where_it_was(lamina: Commands) -> None:
    first = lamina.ask("Refund order 1042.", "--yes")
    second = lamina.ask("What was refunded?")

    assert (first.code, second.code) == (0, 0)
    assert (first.last["conversation"], second.last["output"]) == ("ada", "Refunded so far: 12.50 for order 1042.")
    assert first.err == "lamina: The session ada is new; it is kept in lamina.db.\n"
    assert second.err.startswith("lamina: The session ada goes on after ")
    assert (lamina.folder / "refunds.txt").read_text() == "order 1042: 1250 cents\n"
    listed = lamina("sessions", "list", "--json").last
    assert (listed["session"], listed["state"], listed["principal"]) == ("ada", "free", None)
    assert [each["id"] for each in listed["conversations"]] == ["ada"]


def test_for_people_it_says_the_same_in_words(lamina: Commands) -> None:
    lamina("run", APP, "Refund order 1042.", "--session", "ada")

    shown = lamina("sessions", "show", "ada")
    listed = lamina("sessions", "list")

    assert shown.code == listed.code == 0
    assert listed.out.startswith("ada  suspended  20")
    for text in (
        "     3  user: Refund order 1042.\n",
        "     7  the agent: Order 1042 was 12.50. refund(1042, 1250)\n",
        "     8  asked: Refund 12.50 for order 1042 (high risk)\n",
        "     9  the run is suspended, and waits for somebody to decide\n",
        "  touches order 1042\n",
        "  lamina approvals approve ID\n",
    ):
        assert text in shown.out


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "it is empty"),
        ("x" * 10_000, "it has more than 128 characters"),
        ("a/b", "it holds a path separator"),
        ("..\\x", "it holds a path separator"),
        ("..", "it names a folder"),
        ("a\0b", "it holds a character that cannot be printed"),
        ("a\x1b[2J", "it holds a character that cannot be printed"),
        (" a", "it begins or ends with a space"),
    ],
    ids=["empty", "long", "slash", "backslash", "dots", "nul", "escape", "space"],
)
@pytest.mark.parametrize("command", ["run", "show", "fork", "principal"])
def test_a_name_that_is_none_is_refused_before_anything_is_made(
    lamina: Commands, command: str, name: str, why: str
) -> None:
    lamina.ask("hello")
    before = lamina("sessions", "list", "--json").out
    ended = {
        "run": lambda: lamina.ask("hello", session=name),
        "show": lambda: lamina("sessions", "show", name),
        "fork": lambda: lamina("sessions", "fork", "ada", "--to", name),
        "principal": lambda: lamina.ask("hello", "--principal", name),
    }[command]()

    if command == "principal" and ("path" in why or "folder" in why):
        assert ended.code in (0, 1)  # a principal may hold them; the session is not this one's
        return
    assert ended.code == 2
    assert why.replace("128", "256" if command == "principal" else "128") in ended.err
    assert "x" * 200 not in ended.err
    assert lamina("sessions", "list", "--json").out == before


def test_another_principals_session_is_not_there(lamina: Commands) -> None:
    lamina.suspended("--principal", "ada")
    before = lamina("sessions", "show", "ada", "--principal", "ada", "--json").out

    for ended in (
        lamina.ask("hello", "--principal", "bob"),
        lamina.ask("hello"),
        lamina("run", APP, "--session", "ada", "--principal", "bob", "--resume", "--yes"),
        lamina("sessions", "show", "ada"),
        lamina("sessions", "fork", "ada", "--to", "mine", "--principal", "bob"),
        lamina("sessions", "export", "ada", "--principal", "bob"),
    ):
        assert ended.code == 1
        assert "session ada" in ended.err
    assert lamina("sessions", "list", "--principal", "bob", "--json").out == ""
    assert lamina("approvals", "list", "--principal", "bob", "--json").out == ""
    assert lamina("sessions", "show", "ada", "--principal", "ada", "--json").out == before


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--store", "x.db"), "--store goes with a session."),
        (("--principal", "ada"), "--principal goes with a session."),
        (("--busy", "queue"), "--busy goes with a session."),
        (("--defer",), "--defer goes with a session."),
        (("--resume",), "--resume goes with a session."),
        ((), "Its approvals are decided later, so the run needs a session."),
    ],
)
def test_what_goes_with_a_session_needs_one(lamina: Commands, options: tuple[str, ...], told: str) -> None:
    ended = lamina("run", APP, "hello", *options)

    assert (ended.code, ended.out.splitlines()[1:]) == (2, [])
    assert ended.err == f"lamina: {told}\n  Add --session NAME.\n"
    assert list(lamina.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("run", APP, "--session", "a"), "The input is missing."),
        (("run", APP, "x", "--session", "a", "--yes", "--defer"), "--yes and --defer are two answers"),
        (("run", APP, "--session", "a", "--resume", "--busy", "fork"), "--busy does not go with --resume."),
        (("run", APP, "some input", "--session", "a", "--resume"), "A run that is resumed takes no input."),
        (("run", APP, "x", "--session", "a", "--busy", "wait"), "Argument --busy: invalid choice"),
        (("sessions",), "The following arguments are required: VERB"),
        (("sessions", "fork", "a"), "The following arguments are required: --to"),
        (("sessions", "list", "--limit", "0"), "Argument --limit: a whole number from 1 to 1024 is wanted"),
        (("sessions", "show", "a", "--after", "-1"), "Argument --after: "),
        (("sessions", "export", "a", "--force"), "There is no store lamina.db."),
    ],
)
def test_a_mistake_is_told_in_words(lamina: Commands, arguments: tuple[str, ...], told: str) -> None:
    ended = lamina(*arguments)

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"lamina: {told}")
    assert list(lamina.folder.iterdir()) == []


# --- stores that are none -------------------------------------------------------------------------------------------


LOOKING = [
    ("sessions", "list"),
    ("sessions", "show", "ada"),
    ("sessions", "fork", "ada", "--to", "b"),
    ("sessions", "export", "ada"),
    ("approvals", "list"),
    ("approvals", "approve", "approval:run-1/1/x", "--by", "ada"),
]


@pytest.mark.parametrize("command", LOOKING, ids=" ".join)
def test_a_slip_of_the_pen_makes_no_database(lamina: Commands, command: tuple[str, ...]) -> None:
    (lamina.folder / "real.db").write_bytes(b"x")
    (lamina.folder / "empty.db").touch()

    slip = lamina(*command, "--store", "reel.db")
    empty = lamina(*command, "--store", "empty.db")

    assert (slip.code, empty.code) == (2, 2)
    assert slip.err.startswith("lamina: There is no store reel.db.\n  There is empty.db, real.db.\n")
    assert empty.err.startswith("lamina: The file empty.db is empty: no session was ever kept in it.\n")
    assert sorted(each.name for each in lamina.folder.iterdir()) == ["empty.db", "real.db"]
    assert (lamina.folder / "empty.db").stat().st_size == 0


def _newer(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("INSERT INTO schema_version (version, checksum) VALUES (9999, 'of a newer release')")
    connection.close()


def _foreign(file: Path) -> None:
    file.unlink()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE guests (name TEXT)")
    connection.close()


def _junk(file: Path) -> None:
    file.write_bytes(b"this is no database at all" * 100)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_newer, "The store lamina.db: The store has schema 9999, and this release knows no more than "),
        (_foreign, "The store lamina.db: The store holds something else than this release made: tables of another"),
        (_junk, "The store lamina.db: The store is damaged, or is no database.\n"),
        (_folder, "The store lamina.db is a folder.\n  Name a file in it: --store lamina.db/lamina.db\n"),
    ],
)
def test_a_store_that_cannot_be_used_is_told_and_left_as_it_is(lamina: Commands, spoil: object, told: str) -> None:
    lamina.ask("hello")
    file = lamina.folder / "lamina.db"
    assert callable(spoil)
    spoil(file)
    before = fingerprint(file)

    for ended in (lamina.ask("hello"), lamina("sessions", "list"), lamina("approvals", "list")):
        assert ended.code == 2
        assert ended.err.startswith(f"lamina: {told}")
        assert "Traceback" not in ended.err
    assert fingerprint(file) == before


def test_a_store_that_another_writes_to_is_still_looked_at(lamina: Commands) -> None:
    lamina.ask("hello")
    other = sqlite3.connect(lamina.folder / "lamina.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    listed = lamina("sessions", "list", "--json")
    locked = lamina("sessions", "fork", "ada", "--to", "b")
    other.close()

    assert listed.last["session"] == "ada"
    assert (locked.code, locked.err) == (
        2,
        "lamina: The store is locked by another.\n  Another process is writing; try again in a moment.\n",
    )
    assert lamina("sessions", "fork", "ada", "--to", "b").code == 0


def test_a_damaged_page_is_told_by_whatever_meets_it(lamina: Commands) -> None:
    for number in range(6):
        lamina.ask("Refund order 1042.", "--yes", session=f"s-{number}")
    file = lamina.folder / "lamina.db"
    page, data = 4_096, bytearray(file.read_bytes())
    data[page : len(data)] = b"\xa5" * (len(data) - page)
    file.write_bytes(data)
    before = fingerprint(file)

    for ended in (lamina("sessions", "show", "s-1"), lamina.ask("hello", session="s-1"), lamina("approvals", "list")):
        assert ended.code == 2
        assert "The store is damaged, or is no database.\n" in ended.err
        assert "Traceback" not in ended.err
    assert fingerprint(file) == before


# --- forks and exports ----------------------------------------------------------------------------------------------


def test_a_fork_is_a_session_of_its_own(lamina: Commands) -> None:
    lamina.ask("Refund order 1042.", "--yes")
    end = lamina("sessions", "list", "--json").last["conversations"][0]["records"]
    lamina.ask("Refund order 1043.", "--yes")
    before = lamina("sessions", "show", "ada", "--json").out

    refused = lamina("sessions", "fork", "ada", "--at", "8", "--to", "other")
    forked = lamina("sessions", "fork", "ada", "--at", str(end), "--to", "other")
    taken = lamina("sessions", "fork", "ada", "--to", "other")

    assert (refused.code, forked.code, taken.code) == (1, 0, 1)
    assert "cannot be forked at 8: " in refused.err
    assert "\n  Write --at " in refused.err
    assert taken.err == "lamina: There is a session other already.\n  Take another name.\n"
    assert lamina("sessions", "show", "ada", "--json").out == before
    assert lamina.ask("What was refunded?", session="other").last["output"] == "Refunded so far: 12.50 for order 1042."
    both = "Refunded so far: 12.50 for order 1042, 4.80 for order 1043."
    assert lamina.ask("What was refunded?").last["output"] == both


@pytest.mark.parametrize("name", ["lamina.db", "./lamina.db", "lamina.db-wal", "same.db", "link.db"])
def test_nothing_is_written_over_the_store(lamina: Commands, name: str) -> None:
    lamina.ask("Refund order 1042.", "--yes")
    (lamina.folder / "same.db").hardlink_to(lamina.folder / "lamina.db")
    (lamina.folder / "link.db").symlink_to("lamina.db")
    before = (lamina.folder / "lamina.db").read_bytes()

    export = lamina("sessions", "export", "ada", "--output", name, "--force")
    show = lamina("sessions", "show", "ada", "--log", name)
    run = lamina.ask("What was refunded?", "--log", name)

    assert (export.code, show.code, run.code) == (2, 2, 2)
    assert export.err.startswith("lamina: An export cannot be written over the store lamina.db.")
    assert show.err == run.err == "lamina: A log cannot be written over the store lamina.db.\n  Take another name.\n"
    assert (lamina.folder / "lamina.db").read_bytes() == before
    assert lamina("sessions", "list", "--json").last["session"] == "ada"


def test_no_log_is_written_where_the_store_is_to_be(lamina: Commands) -> None:
    assert lamina.ask("Refund order 1042.", "--store", "new.db", "--log", "new.db").code == 2
    assert list(lamina.folder.glob("new.db*")) == []


def test_an_export_can_be_checked_and_writes_over_nothing(lamina: Commands) -> None:
    lamina.ask("Refund order 1042.", "--yes")
    file = lamina.folder / "ada.jsonl"

    printed = lamina("sessions", "export", "ada")
    written = lamina("sessions", "export", "ada", "--output", "ada.jsonl")
    again = lamina("sessions", "export", "ada", "--output", "ada.jsonl")
    nowhere = lamina("sessions", "export", "ada", "--output", "no/such/ada.jsonl")
    lines = printed.out.splitlines()
    lamina.ask("hello")
    forced = lamina("sessions", "export", "ada", "--output", "ada.jsonl", "--force")

    checked = verify_export(lines)
    assert isinstance(checked, Success)
    assert checked.unwrap() == Tail(len(lines) - 1, json.loads(lines[0])["digest"])
    assert (written.code, again.code, nowhere.code, forced.code) == (0, 2, 2, 0)
    assert again.err.startswith("lamina: There is a ada.jsonl already.\n")
    assert nowhere.err == "lamina: The file no/such/ada.jsonl cannot be written: No such file or directory.\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(file.read_text().splitlines()) > len(lines)
    assert [each.name for each in lamina.folder.iterdir() if each.name.startswith(".")] == []


def test_what_is_shown_is_bounded_and_paged(lamina: Commands) -> None:
    for name in ("a", "b", "c"):
        lamina.ask("hello", session=name)

    page = lamina("sessions", "list", "--limit", "2")
    rest = lamina("sessions", "list", "--json", "--after", "b")
    last = lamina("sessions", "show", "a", "--limit", "2")
    first = lamina("sessions", "show", "a", "--after", "0", "--limit", "2")
    lines = lamina("sessions", "show", "a", "--limit", "2", "--json").lines

    assert page.out.splitlines()[2] == "There may be more: lamina sessions list --after b"
    assert [each["session"] for each in rest.lines] == ["c"]
    assert "(records 1 to 3 are left out" in last.out
    assert "     5  the run completed" in last.out
    assert "There is more: lamina sessions show a --after 2" in first.out
    assert [each["seq"] for each in lines[1:]] == [4, 5]


# --- busy -----------------------------------------------------------------------------------------------------------


def test_a_session_that_waits_is_busy_and_a_fork_is_a_new_session(lamina: Commands) -> None:
    waiting = lamina.suspended()

    busy = lamina.ask("hello")
    forked = lamina.ask("hello", "--busy", "fork")
    again = lamina.ask("hello again", session="ada-2")

    assert (busy.code, busy.last["error"]["_tag"]) == (1, "ConversationBusy")
    assert busy.last["next"][1] == f"lamina run {APP} --session ada --resume"
    assert forked.code == again.code == 0
    assert "this is the session ada-2, a fork of it" in forked.err
    assert forked.last["conversation"] == again.last["conversation"] != "ada"
    states = {each["session"]: each["state"] for each in lamina("sessions", "list", "--json").lines}
    assert states == {"ada": "suspended", "ada-2": "free"}
    assert lamina("approvals", "list", "--json").last["id"] == waiting["approval"]


# --- applications of many kinds -------------------------------------------------------------------------------------

OWN = """
from lamina.conversation import stored_conversations
from lamina.demo.refunds import Till, FileTill, Clerk, clerk
from lamina.approval import Approval, DeferredApproval
from lamina.effect import bind
from lamina.model import LanguageModel
from lamina.runtime import RuntimeBuilder
from lamina.store import memory_store, sqlite_store

base = RuntimeBuilder().provide(bind(Till).to(FileTill)).agent(clerk.on(bind(LanguageModel).to(Clerk)))
now = base.provide(bind(Approval).value(DeferredApproval()))
own = now.provide(stored_conversations() | sqlite_store("own.db"))
store_only = now.provide(sqlite_store("own.db"))
same = base.provide(bind(Approval).value(DeferredApproval(same_process=True)))
passing = same.provide(stored_conversations() | memory_store())
hidden = now.provide(stored_conversations().provide(sqlite_store("own.db")))
"""


@pytest.mark.parametrize("name", ["own", "store_only"])
def test_an_application_that_keeps_its_own_conversations_does_so(
    lamina: Commands, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"shop_{name}"  # a module is imported once in a process
    (lamina.folder / f"{module}.py").write_text(OWN)
    monkeypatch.setenv("LAMINA_STORE", "not-this.db")

    suspended = lamina("run", f"{module}:{name}", "Refund order 1042.", "--session", "ada", "--json")
    refused = lamina("run", f"{module}:{name}", "x", "--session", "ada", "--store", "other.db")
    listed = lamina("approvals", "list", "--store", "own.db", "--json")
    resumed = lamina("run", f"{module}:{name}", "--session", "ada", "--resume", "--yes", "--json")

    assert (suspended.code, refused.code, resumed.code) == (3, 2, 0)
    assert refused.err == (
        f"lamina: {module}:{name} keeps its own conversations, so --store does not go with it.\n  Leave --store out.\n"
    )
    assert suspended.last["next"][0].endswith(" --store WHERE-THE-APPLICATION-KEEPS-IT")
    assert listed.last["id"] == suspended.last["suspended"]["waiting"][0]["approval"]
    assert sorted(each.name for each in lamina.folder.glob("*.db")) == ["own.db"]


def test_a_store_that_ends_with_the_process_says_so(lamina: Commands) -> None:
    (lamina.folder / "shop2.py").write_text(OWN)

    ended = lamina("run", "shop2:passing", "hello", "--session", "ada")
    hidden = lamina("run", "shop2:hidden", "hello", "--session", "ada")

    assert ended.code == 0
    assert "own store ends with this process: the session will not be there again." in ended.out
    assert hidden.code == 2
    assert "has Conversations of its own, and neither a SessionStore nor a Store." in hidden.err
    assert list(lamina.folder.glob("*.db")) == []


def test_the_environment_says_where_the_store_is_and_the_option_says_it_louder(
    lamina: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMINA_STORE", "here it is.db")

    ended = lamina.ask("Refund order 1042.")
    other = lamina.ask("hello", "--store", "there.db")

    assert ended.last["next"][1] == f"lamina run {APP} --session ada --store 'here it is.db' --resume"
    assert other.code == 0
    assert sorted(each.name for each in lamina.folder.glob("*.db")) == ["here it is.db", "there.db"]


def test_defer_leaves_every_approval_to_later(lamina: Commands) -> None:
    ended = lamina("run", "lamina.demo:app", "go", "--session", "t", "--defer", "--json")
    resumed = lamina("run", "lamina.demo:app", "--session", "t", "--resume", "--yes", "--json")

    assert (ended.code, ended.last["result"]) == (3, "suspended")
    assert ended.last["next"][1] == "lamina run lamina.demo:app --defer --session t --resume"
    assert (resumed.code, resumed.last["result"]) == (0, "completed")
    assert len(resumed.last["output"]["labelled"]) == 1


def test_of_several_agents_the_suspended_runs_own_goes_on(lamina: Commands) -> None:
    (lamina.folder / "two.py").write_text(
        OWN + "from lamina.agent import Agent\n"
        "other = Agent('other', instructions='x', policy=clerk.policy).on(bind(LanguageModel).to(Clerk))\n"
        "app = now.agent(other)\nless = now.replace()\n"
    )
    ended = lamina("run", "two:app", "clerk", "Refund order 1042.", "--session", "ada", "--json")
    wrong = lamina("run", "two:app", "other", "--session", "ada", "--resume", "--yes")
    resumed = lamina("run", "two:app", "--session", "ada", "--resume", "--yes", "--json")

    assert (ended.code, ended.last["next"][1]) == (3, "lamina run two:app clerk --session ada --resume")
    assert (wrong.code, wrong.err) == (
        2,
        "lamina: The suspended run is of the agent clerk, not other.\n  Leave the agent out.\n",
    )
    assert (resumed.code, resumed.last["output"]) == (0, "Done: 12.50 for order 1042.")


# --- what comes from the store is only characters -------------------------------------------------------------------


def test_no_control_character_of_the_store_reaches_the_terminal(lamina: Commands) -> None:
    lamina.ask("[bold]x[/bold] \x1b[2J\x07\u202e order 1042")

    for verb in (("sessions", "show", "ada"), ("approvals", "list"), ("sessions", "export", "ada")):
        ended = lamina(*verb)
        assert ended.code == 0
        assert [one for one in ended.out if not (one.isprintable() or one == "\n")] == []
    assert "[bold]x[/bold] \ufffd[2J\ufffd\ufffd order 1042" in lamina("sessions", "show", "ada").out
