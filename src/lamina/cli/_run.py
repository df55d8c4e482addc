"""`lamina run`: one run of one agent of an application, alone or in a session."""

from __future__ import annotations

import argparse
import shlex

from lamina.cli._choose import (
    AnyBinding,
    allowing_all,
    choose_agent,
    choose_suspended,
    deferring,
    on_model,
    read_input,
)
from lamina.cli._execute import Alone, Conduct, execute
from lamina.cli._exits import UsageError
from lamina.cli._kept import check_names
from lamina.cli._load import AnyApp, load_app
from lamina.cli._models import ModelChoice, model_choice
from lamina.cli._output import JsonLines
from lamina.cli._place import StorePlace, store_place
from lamina.cli._plain import printable
from lamina.cli._screen import Screen
from lamina.cli._session import InSession, Resuming, SessionChoice, keeping
from lamina.cli._timeline import Timeline
from lamina.effect import ConstructionError
from lamina.redaction import Secrets

_ONLY_IN_SESSIONS = ("store", "principal", "busy", "resume", "defer")
_OF_SESSIONS = ("conversation=", "durable Conversations")
_ADD = "Add --session NAME."


def run(options: argparse.Namespace) -> int:
    """Run what the command line says.

    Raises:
        UsageError: The command line does not fit the application, or the session cannot be used.
        ConstructionError: The application has problems, or a package that the model needs is missing.
    """
    _check(options)
    choice = model_choice(options.model, options.base_url)
    app = load_app(options.app)
    binding: AnyBinding | None
    if options.resume:
        binding, given = choose_suspended(app, options.app, options.words), ""
    else:
        binding, given = choose_agent(app, options.app, options.words)
    title = "its own model"
    if choice is not None:
        if binding is None:
            raise UsageError("--model needs to know the agent.", f"Write: lamina run {options.app} AGENT --resume …")
        app, binding = _rebound(app, binding, choice)
        title = choice.title
    place: StorePlace | None = None
    if options.session is not None:
        app, place = keeping(app, options.app, store_place(options.store))
    app.plan().raise_problems()
    if options.yes:
        app = allowing_all(app)
    if options.defer:
        app = deferring(app)
    agent = f"the session {options.session}" if binding is None else binding.agent.id
    conduct: Conduct
    if options.session is not None and options.resume:
        conduct = Resuming(_session(options, app, binding, place), app, binding, allow=options.yes)
    elif binding is None:
        raise AssertionError("only what is resumed has no agent yet")
    else:
        value = read_input(binding, given)
        conduct = Alone(binding, value)
        if options.session is not None:
            conduct = InSession(_session(options, app, binding, place), binding, value)
    try:
        if options.json:
            return execute(app, conduct, JsonLines(), agent, title, place=place, log_secrets=options.log_secrets)
        screen = Screen()
        with screen.shared():
            tick = screen.tick if screen.is_live else None
            return execute(app, conduct, Timeline(screen), agent, title, tick, place, options.log_secrets)
    except ConstructionError as error:
        if options.session is None and any(each.subject in _OF_SESSIONS for each in error.problems):
            raise UsageError("Its approvals are decided later, so the run needs a session.", _ADD) from None
        raise


def _check(options: argparse.Namespace) -> None:
    if options.session is None:
        for name in _ONLY_IN_SESSIONS:
            if getattr(options, name) not in (None, False):
                raise UsageError(f"--{name} goes with a session.", _ADD)
    else:
        check_names(options.principal, session=options.session)
    if options.resume and options.busy is not None:
        raise UsageError("--busy does not go with --resume.", "A suspended run has its conversation already.")
    if options.defer and options.yes:
        raise UsageError("--yes and --defer are two answers to one question.", "Leave one of them out.")
    if not options.resume and not options.words:
        raise UsageError("The input is missing.", f'Write: lamina run {printable(options.app)} [AGENT] "…"')


def _session(
    options: argparse.Namespace, app: AnyApp, binding: AnyBinding | None, place: StorePlace | None
) -> SessionChoice:
    agent = [] if binding is None or len(options.words) < (1 if options.resume else 2) else [binding.agent.id]
    more: list[str] = ["--defer"] if options.defer else []
    if options.model is not None:
        more += ["--model", options.model]
    if options.base_url is not None:
        more += ["--base-url", options.base_url]
    return SessionChoice(
        name=options.session,
        principal=options.principal,
        busy=options.busy or "reject",
        place=place,
        command=shlex.join(["lamina", "run", options.app, *agent, *more]),
        has_secrets=Secrets in app.plan().exports,
    )


def _rebound(app: AnyApp, binding: AnyBinding, choice: ModelChoice) -> tuple[AnyApp, AnyBinding]:
    if choice.kind != "scripted":
        return on_model(app, binding, choice.layer())
    from lamina.demo import triage

    if binding.agent is not triage:
        raise UsageError(
            "--model scripted is the demo's own.", "Leave it out, or write local, openai:NAME or anthropic:NAME."
        )
    return app, binding
