"""`lamina approvals`: what is shown of a request, what an id may be, and what a decision does."""

from __future__ import annotations

import getpass

import pytest

from tests.unit.cli.commands import APP, Commands, lamina

__all__ = ["lamina"]


def resumed(lamina: Commands, *more: str) -> str:
    ended = lamina("run", APP, "--session", "ada", "--resume", "--json", *more)
    assert ended.code == 0, ended
    return str(ended.last["output"])


def test_the_list_has_all_that_somebody_who_decides_has_to_see(lamina: Commands) -> None:
    waiting = lamina.suspended()

    for_people = lamina("approvals", "list")
    machine = lamina("approvals", "list", "--json").last

    assert for_people.code == 0
    assert for_people.out.splitlines() == [
        "session ada, agent clerk, turn 2",
        waiting["approval"],
        "  refund: Refund 12.50 for order 1042 (high risk, uncertain)",
        "  touches order 1042",
        '    {"order": "1042", "cents": 1250}',
        f"  digest {waiting['arguments_digest'][:16]}, no time limit; the model is told of a denial",
        "",
        "1 decision to be made:",
        "  lamina approvals approve ID",
        "  lamina approvals deny ID --reason WHY",
    ]
    assert (machine["id"], machine["tool"], machine["risk"]) == (waiting["approval"], "refund", "high")
    assert (machine["targets"], machine["preview"]) == (["order 1042"], {"order": "1042", "cents": 1250})
    assert (machine["arguments_digest"], machine["expires_at"]) == (waiting["arguments_digest"], None)


def test_an_approval_is_recorded_and_the_run_goes_on_with_it(lamina: Commands) -> None:
    waiting = lamina.suspended()

    ended = lamina("approvals", "approve", waiting["approval"], "--by", "ada", "--json")

    assert ended.code == 0
    said = ended.last
    assert (said["decision"], said["by"], said["before"], said["undecided"]) == ("approved", "ada", None, 0)
    assert (said["session"], said["arguments_digest"]) == ("ada", waiting["arguments_digest"])
    assert lamina("approvals", "list").out == "Nothing waits for a decision in lamina.db.\n"
    shown = lamina("sessions", "show", "ada").out
    assert "approved by ada\n" in shown
    assert "Everything is decided: " in shown
    assert resumed(lamina) == "Done: 12.50 for order 1042."


def test_a_denial_and_its_reason_are_told_to_the_model(lamina: Commands) -> None:
    waiting = lamina.suspended()

    ended = lamina("approvals", "deny", waiting["approval"], "--reason", "not \x1b[2Jours")

    assert ended.code == 0
    assert ended.out.startswith(f"denied by {getpass.getuser()}: refund: Refund 12.50 for order 1042\n")
    assert resumed(lamina) == "That was not allowed, so nothing was refunded."
    assert not (lamina.folder / "refunds.txt").exists()
    assert "\x1b" not in lamina("sessions", "show", "ada").out


def test_until_the_run_goes_on_the_last_word_counts_and_then_it_is_decided(lamina: Commands) -> None:
    id_ = lamina.suspended()["approval"]

    lamina("approvals", "approve", id_, "--by", "ada")
    same = lamina("approvals", "approve", id_, "--by", "ada", "--json")
    other = lamina("approvals", "deny", id_, "--by", "bob")
    output = resumed(lamina)
    late = lamina("approvals", "approve", id_, "--by", "ada")
    again = lamina("run", APP, "--session", "ada", "--resume", "--yes")

    assert (same.code, same.last["before"], same.last["decision"]) == (0, "approved", "approved")
    assert other.code == 0
    assert "It was approved before; until the run goes on, the last word counts." in other.out
    assert output == "That was not allowed, so nothing was refunded."
    assert late.code == again.code == 1
    assert late.err.startswith(f"lamina: Nothing of the id {id_} waits for a decision in lamina.db: it was decided")
    assert again.err.startswith("lamina: AlreadyDecided: The run run-")


def test_a_short_id_of_what_is_decided_says_so_and_changes_nothing(lamina: Commands) -> None:
    waiting = lamina.suspended()
    lamina("approvals", "deny", waiting["call"])

    by_call = lamina("approvals", "approve", waiting["call"])
    by_beginning = lamina("approvals", "approve", waiting["approval"][:30])

    assert (by_call.code, by_beginning.code) == (1, 1)
    assert by_call.err.splitlines() == [
        "lamina: call-2 is decided already, and its run has not gone on yet.",
        "  To change that, write the whole id:",
        f"  {waiting['approval']}  denied",
    ]
    assert lamina("approvals", "approve", waiting["approval"], "--json").last["before"] == "denied"


def test_an_id_may_be_the_calls_or_a_beginning_that_means_one(lamina: Commands) -> None:
    first = lamina.suspended(session="ada")
    second = lamina.suspended(session="bob")
    run = first["approval"].split("/")[0].removeprefix("approval:")

    both = lamina("approvals", "approve", "call-2", "--by", "x")
    short = lamina("approvals", "approve", run[:9], "--by", "x")
    nothing = lamina("approvals", "approve", "call-3\x1b[2J", "--by", "x")
    by_run = lamina("approvals", "approve", run, "--by", "x", "--json")
    by_call = lamina("approvals", "deny", "call-2", "--by", "x", "--json")

    assert (both.code, short.code, nothing.code) == (1, 1, 1)
    assert both.err.startswith("lamina: call-2 may be any of 2 requests.\n  Write the whole id:\n")
    assert "\x1b" not in nothing.err
    assert (by_run.last["id"], by_call.last["id"]) == (first["approval"], second["approval"])


def test_a_digest_binds_the_decision_to_what_was_seen(lamina: Commands) -> None:
    waiting = lamina.suspended()

    wrong = lamina("approvals", "approve", waiting["approval"], "--digest", "0" * 16)
    empty = lamina("approvals", "approve", waiting["approval"], "--digest", "")
    right = lamina("approvals", "approve", waiting["approval"], "--digest", waiting["arguments_digest"][:16].upper())

    assert (wrong.code, empty.code, right.code) == (1, 1, 0)
    assert wrong.err.startswith("lamina: The arguments are not those that the digest was made of; nothing was decided.")


@pytest.mark.parametrize(
    ("by", "why"),
    [("", "it is empty"), ("x" * 300, "it has more than 256 characters"), ("a\x1bb", "it holds a character that")],
)
def test_who_decides_has_a_name(lamina: Commands, by: str, why: str) -> None:
    waiting = lamina.suspended()

    ended = lamina("approvals", "approve", waiting["approval"], "--by", by)

    assert ended.code == 2
    assert ended.err.startswith(f"lamina: The name of who decides is refused: {why}")
    assert lamina("approvals", "list", "--json").last["id"] == waiting["approval"]


def test_what_has_lapsed_is_a_denial_and_cannot_be_approved(lamina: Commands) -> None:
    (lamina.folder / "lapsing.py").write_text(
        "from lamina.demo.refunds import *\n"
        "from lamina.demo import refunds as r\n"
        "from lamina.approval import Approval, Ask, DeferredApproval\n"
        "from lamina.effect import Try, bind\nfrom lamina.model import LanguageModel\nfrom lamina.agent import Agent\n"
        "from lamina.runtime import RuntimeBuilder\nfrom lamina.tools import tool\n"
        "@tool(needs_approval=True, approval=Ask[Refund](expires=0.001, recoverable=True))\n"
        "async def refund(call: Refund, ok: Try[NotPaid], till: Till) -> str:\n    'Pay.'\n    return 'paid'\n"
        "agent = Agent('clerk', instructions='x', policy=clerk.policy, toolkit=r.look_up | refund)\n"
        "app = (RuntimeBuilder().provide(bind(Till).to(FileTill)).provide(bind(Approval).value(DeferredApproval()))\n"
        "       .agent(agent.on(bind(LanguageModel).to(Clerk))))\n"
    )
    ended = lamina("run", "lapsing:app", "Refund order 1042.", "--session", "ada", "--json")
    id_ = ended.last["suspended"]["waiting"][0]["approval"]

    listed = lamina("approvals", "list")
    late = lamina("approvals", "approve", id_, "--by", "ada")
    concluded = lamina("run", "lapsing:app", "--session", "ada", "--resume", "--json")

    assert "lapsed at 20" in listed.out
    assert (late.code, concluded.code) == (1, 0)
    assert late.err.startswith("lamina: ApprovalLapsed: ")
    assert "\n  Nobody answered in time, which is a denial" in late.err
    assert concluded.last["output"] == "That was not allowed, so nothing was refunded."


TWO = """
from lamina.agent import Agent, AgentPolicy
from lamina.approval import Approval, DeferredApproval
from lamina.demo.refunds import FileTill, Till, refund
from lamina.effect import bind
from lamina.runtime import RuntimeBuilder
from lamina.testing import ScriptedModel, call_tool, say

policy = AgentPolicy(max_turns=6, max_tool_calls=6, max_duration=60, tool_concurrency=1)
agent = Agent("a", instructions="x", policy=policy, toolkit=refund)
both = call_tool("refund", order="1", cents=1, id="one") & call_tool("refund", order="2", cents=2, id="two")
base = RuntimeBuilder().provide(bind(Till).to(FileTill)).provide(bind(Approval).value(DeferredApproval()))
app, later = base.agent(agent.on(ScriptedModel(both))), base.agent(agent.on(ScriptedModel(say("done"))))
"""


def test_a_decision_may_cover_the_tool(lamina: Commands) -> None:
    (lamina.folder / "two_refunds.py").write_text(TWO)
    lamina("run", "two_refunds:app", "go", "--session", "ada")

    one = lamina("approvals", "approve", "one", "--by", "ada")
    tool = lamina("approvals", "deny", "two", "--by", "ada", "--covers", "tool", "--json").last
    resumed = lamina("run", "two_refunds:later", "--session", "ada", "--resume", "--json")

    assert "1 decision more to be made: lamina approvals list\n" in one.out
    assert (tool["covers"], tool["undecided"]) == ("tool", 0)
    assert resumed.code == 0
    assert (lamina.folder / "refunds.txt").read_text() == "order 1: 1 cents\n"
