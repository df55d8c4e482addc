"""`lamina approvals`: what waits for a decision, and the decision; needs no application and no model."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import shlex
import sys

from returns.result import Failure
from rich.text import Text

from lamina.approval import ApprovalRequest, Approved, Covers, Denied
from lamina.cli._exits import OK, Refused, UsageError
from lamina.cli._hidden import hidden_values
from lamina.cli._kept import PAGE, Kept, check_names, refusal, told
from lamina.cli._looking import with_store
from lamina.cli._place import StorePlace, store_place
from lamina.cli._plain import count, printable
from lamina.cli._requests import json_of, show_request, words_of
from lamina.cli._screen import Screen
from lamina.conversation import Pending, check_principal
from lamina.effect import tag_of
from lamina.schema import JsonValue

_MARK = "approval:"
_SHORTEST = 8


def approvals(options: argparse.Namespace) -> int:
    """Do what the command line says.

    Raises:
        UsageError: A name cannot be one, or there is no store.
        Refused: Nothing of that id waits, or it is decided already.
    """
    place = store_place(options.store)
    check_names(options.principal)
    if options.verb == "list":
        return with_store(place, options.principal, lambda kept: _list(kept, options, place))
    by = _decider(options.by)
    if options.verb == "deny":
        options.reason = hidden_values(place, options.hide).redact_text(options.reason)
    return with_store(place, options.principal, lambda kept: _decide(kept, options, place, by))


async def _list(kept: Kept, options: argparse.Namespace, place: StorePlace) -> int:
    page = told(await kept.conversations.pending(principal=kept.principal, limit=options.limit))
    if options.json:
        for each in page:
            _write_json({**json_of(each.request), "asked": each.asked.isoformat(), "expired": each.expired})
        return OK
    screen = Screen()
    if not page:
        screen.raw(f"Nothing waits for a decision in {place.title}.")
        return OK
    before = ""
    for each in page:
        if each.conversation != before:
            if before:
                screen.line()
            before = each.conversation
            session = await kept.session_of(each.conversation)
            where = f"session {session}" if session is not None else f"conversation {each.conversation}"
            screen.raw(Text(f"{printable(where)}, agent {printable(each.agent)}, turn {each.turn}", style="dim"))
        show_request(screen, each.request)
    screen.line()
    words = printable(words_of(place, options.principal))
    screen.raw(f"{count(len(page), 'decision')} to be made:")
    screen.raw(f"  lamina approvals approve ID{words}")
    screen.raw(f"  lamina approvals deny ID{words} --reason WHY")
    return OK


async def _decide(kept: Kept, options: argparse.Namespace, place: StorePlace, by: str) -> int:
    request, before = await _find(kept, options.id, place)
    if options.digest is not None and not request.arguments_digest.startswith(options.digest.lower() or "-"):
        raise Refused(
            "The arguments are not those that the digest was made of; nothing was decided.",
            f"Look at them again: lamina approvals list{words_of(place, options.principal)}",
        )
    approve = options.verb == "approve"
    covers: Covers = options.covers
    decision = Approved(by, covers) if approve else Denied(by, options.reason, covers)
    answer = await kept.conversations.decide(
        request.conversation or "",
        request.key.run,
        request.key.call,
        decision,
        request.arguments_digest,
        principal=kept.principal,
    )
    if isinstance(answer, Failure):
        error = answer.failure()
        raise refusal(error, *_after(error, place, options.principal), tag=True)
    made = answer.unwrap()
    session = await kept.session_of(request.conversation or "")
    left = len(await kept.waiting(request.conversation or "", request.key.run))
    if options.json:
        _write_json(
            {
                "id": request.id,
                "decision": made.decision,
                "by": made.by,
                "covers": covers,
                "reason": made.reason,
                "before": before,
                "arguments_digest": made.arguments_digest,
                "conversation": request.conversation,
                "session": session,
                "run": request.key.run,
                "call": request.key.call,
                "tool": request.tool,
                "undecided": left,
            }
        )
        return OK
    screen = Screen()
    screen.line(
        Text.assemble(
            (made.decision, "bold green" if approve else "bold red"),
            f" by {printable(made.by)}: {printable(request.tool)}: {printable(request.summary)}",
        ),
        hanging=2,
    )
    if before is not None and before != made.decision:
        screen.line(Text(f"It was {before} before; until the run goes on, the last word counts.", style="dim"))
    if left:
        screen.raw(f"{count(left, 'decision')} more to be made: lamina approvals list{_said(place, options)}")
    elif session is not None:
        screen.raw("The run can go on, where its application is:")
        words = printable(f"--session {shlex.quote(session)}{words_of(place, options.principal)}")
        screen.raw(f"  lamina run MODULE:APP {words} --resume")
    return OK


async def _find(kept: Kept, given: str, place: StorePlace) -> tuple[ApprovalRequest, str | None]:
    """Give the request that is meant, and what was decided of it before, if anything was.

    Raises:
        Refused: None is meant, or several.
    """
    found: list[Pending] = []
    after = ""
    while page := told(await kept.conversations.pending(principal=kept.principal, after=after, limit=PAGE)):
        found += [each for each in page if _is_meant(each.request, given)]
        after = page[-1].cursor
    if len(found) > 1:
        several = [printable(each.request.id) for each in found[:4]]
        raise Refused(f"{printable(given)} may be any of {len(found)} requests.", "Write the whole id:", *several)
    if found:
        return found[0].request, None
    decided = await _decided(kept, given)
    for request, before in decided:
        if request.id == given:
            return request, before
    if decided:  # a decision is changed by its whole id alone: a short one may have meant another run's call
        changes = [f"{printable(request.id)}  {before}" for request, before in decided[:4]]
        raise Refused(
            f"{printable(given)} is decided already, and its run has not gone on yet.",
            "To change that, write the whole id:",
            *changes,
        )
    raise Refused(
        f"Nothing of the id {printable(given)} waits for a decision in {place.title}: "
        "it was decided and its run has gone on, or it never was.",
        f"lamina approvals list{words_of(place, kept.principal)}",
    )


async def _decided(kept: Kept, given: str) -> list[tuple[ApprovalRequest, str | None]]:
    """Look among what is decided, and whose run has not gone on yet: until then the last word counts."""
    found: list[tuple[ApprovalRequest, str | None]] = []
    after = ""
    while page := told(await kept.conversations.list(principal=kept.principal, after=after, limit=PAGE)):
        for summary in page:
            if summary.run is None or summary.state != "suspended":
                continue
            looked = await kept.conversations.suspended(summary.id, summary.run, principal=kept.principal)
            if isinstance(looked, Failure):
                continue
            suspended = looked.unwrap()
            for call, asked in suspended.requests.items():
                if call not in suspended.outcomes and _is_meant(asked.request, given):
                    made = suspended.decisions.get(call)
                    found.append((asked.request, None if made is None else made.decision))
        after = page[-1].id
    return found


def _is_meant(request: ApprovalRequest, given: str) -> bool:
    """Tell whether an id means a request: its own or the call's, whole, or enough of the beginning of its own."""
    if given in (request.id, request.id.removeprefix(_MARK), request.key.call):
        return True
    begun = given.removeprefix(_MARK).removeprefix("run-")
    return len(begun) >= _SHORTEST and request.id.removeprefix(_MARK).removeprefix("run-").startswith(begun)


def _after(error: object, place: StorePlace, principal: str | None) -> tuple[str, ...]:
    if tag_of(error) == "ApprovalLapsed":
        return ("Nobody answered in time, which is a denial: lamina run … --session NAME --resume concludes it.",)
    if tag_of(error) == "AlreadyDecided":
        return (f"lamina approvals list{words_of(place, principal)}",)
    return ()


def _decider(given: str | None) -> str:
    if given is None:
        try:
            given = getpass.getuser()
        except (OSError, KeyError):  # an account without a name; the number is what there is
            given = str(os.getuid()) if hasattr(os, "getuid") else ""
    if (refused := check_principal(given)) is not None:
        raise UsageError(f"The name of who decides is refused: {refused.why}.", "Write --by NAME.")
    return given


def _said(place: StorePlace, options: argparse.Namespace) -> str:
    return printable(words_of(place, options.principal))


def _write_json(value: dict[str, JsonValue]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()
