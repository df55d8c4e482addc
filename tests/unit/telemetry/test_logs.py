from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from lamina.effect import log
from lamina.redaction import MASK, Secrets
from lamina.telemetry import LogBoundary, configure_logging

CANARY = "canary-90aa"
TOKEN = "s3cr3t-token"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    logger = logging.getLogger("lamina")
    before = logger.propagate, logger.level, list(logger.handlers)
    yield io.StringIO()
    logger.propagate, logger.handlers[:] = before[0], before[2]
    logger.setLevel(before[1])


def raised() -> Exception:
    try:
        try:
            raise ValueError(f"{CANARY} {TOKEN}")
        except ValueError as error:
            outer = RuntimeError(CANARY, {"text": CANARY})
            outer.add_note(CANARY)
            raise ExceptionGroup(CANARY, [outer, KeyError(CANARY)]) from error
    except ExceptionGroup as group:
        return group


def test_lines_hold_neither_payload_nor_secret(lines: io.StringIO) -> None:
    secrets = Secrets(TOKEN)
    configure_logging(secrets=secrets, stream=lines)
    secrets.register("registered-later")

    log().warning(
        f"sent {TOKEN}",
        tool="mail",
        arguments={"to": CANARY},
        Metadata=[CANARY],
        problems=("$.to: expected string", f"$.x: {TOKEN}"),
        count=3,
        late="registered-later",
        thing={"unknown": CANARY},
        long="x" * 10_000,
        names=[CANARY],
    )
    log().info("", preview=CANARY)
    log().debug("is below the level", text=CANARY)

    first, second = (json.loads(line) for line in lines.getvalue().splitlines())
    assert first.pop("timestamp").endswith("Z")
    assert len(first.pop("long")) < 5_000
    assert first == {
        "event": f"sent {MASK}",
        "level": "warning",
        "tool": "mail",
        "arguments": {"[REDACTED:key]": "[REDACTED:string]"},
        "Metadata": ["[REDACTED:string]"],
        "problems": ["$.to: expected string", f"$.x: {MASK}"],
        "count": 3,
        "late": MASK,
        "thing": {"[REDACTED:key]": "[REDACTED:string]"},
        "names": ["[REDACTED:string]"],
    }
    assert second["preview"] == "[REDACTED:string]"


def test_an_exception_is_classes_and_places_unless_somebody_asks_for_more(lines: io.StringIO) -> None:
    configure_logging(secrets=Secrets(TOKEN), stream=lines)

    log().error("a tool raised", exc_info=raised(), tool="mail")

    line = json.loads(lines.getvalue())
    assert CANARY not in lines.getvalue()
    assert TOKEN not in lines.getvalue()
    for name in ("ExceptionGroup", "RuntimeError", "KeyError", "caused by builtins.ValueError: [REDACTED:string]"):
        assert name in line["exception"]
    assert "test_logs.py" in line["exception"]
    assert "in raised" in line["exception"]


@pytest.mark.parametrize("form", ["json", "console"])
def test_asked_for_it_has_the_text_without_secrets(lines: io.StringIO, form: Any) -> None:
    configure_logging(secrets=Secrets(TOKEN), stream=lines, exceptions="text", form=form)

    try:
        raise raised()
    except Exception:
        log().exception("a tool raised", tool="mail")

    assert f"{CANARY} {MASK}" in lines.getvalue()
    assert TOKEN not in lines.getvalue()
    assert "Traceback" in lines.getvalue()


def test_what_other_code_logs_there_passes_the_same_boundary(lines: io.StringIO) -> None:
    handler = logging.StreamHandler(lines)
    assert configure_logging(secrets=Secrets(TOKEN), handler=handler, level="DEBUG") is handler
    child = logging.getLogger("lamina.child")

    child.debug("with %s and %s", TOKEN, 5, extra={"body": CANARY, "_hidden": {"x": CANARY}}, stack_info=True)
    try:
        raise raised()
    except Exception as error:
        child.exception("broke", exc_info=(type(error), error, error.__traceback__))

    assert f"with {MASK} and 5" in lines.getvalue()
    assert CANARY not in lines.getvalue()
    assert TOKEN not in lines.getvalue()
    assert "ExceptionGroup" in lines.getvalue()


def test_the_boundary_fits_into_another_configuration() -> None:
    out = io.StringIO()
    logger = structlog.wrap_logger(
        structlog.WriteLogger(out), processors=[LogBoundary(Secrets(TOKEN)), structlog.processors.JSONRenderer()]
    )

    logger.info("hello", input=CANARY, token=TOKEN, nothing=None, yes=True, empty=())
    logger.info("bye", exc_info=True)

    assert json.loads(out.getvalue().splitlines()[0]) == {
        "event": "hello",
        "input": "[REDACTED:string]",
        "token": MASK,
        "nothing": None,
        "yes": True,
        "empty": [],
    }
    assert json.loads(out.getvalue().splitlines()[1]) == {"event": "bye"}


def test_a_chain_of_exceptions_that_leads_back_to_itself_ends() -> None:
    first, second = ValueError(CANARY), KeyError(CANARY)
    first.__context__, second.__context__ = second, first

    event = LogBoundary()(None, "error", {"event": "x", "exc_info": first})

    assert event["exception"].count("[REDACTED:string]") == 2
