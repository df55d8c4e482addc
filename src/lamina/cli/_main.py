"""From the command line to an exit code; whatever goes wrong on the way is said in words."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from lamina.cli._arguments import parser
from lamina.cli._exits import BROKEN_PIPE, FAILED, INTERRUPTED, USAGE, UsageError, is_output_lost
from lamina.cli._log import application_log
from lamina.cli._signals import ending_signals
from lamina.effect import ConstructionError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `lamina`.

    Args:
        arguments: What stands after the command's name; the process's own without it.

    Returns:
        0 where all went well; 1 for a run that failed, for problems that `check` found, for a contract that is not what
        its file says, and for what a store does not have; 2 where nothing could be run: the command line, the
        application or the environment; 3 for a run that is suspended until somebody decides; 130 after Ctrl-C, 143
        after SIGTERM and 129 after SIGHUP; 141 where nobody reads the output any more.

    Example:
        >>> main(["check", "lamina.demo.incomplete:app"])  # doctest: +SKIP
        1
    """
    if find_spec("rich") is None:
        print('The command needs rich: pip install "lamina[cli]"', file=sys.stderr)
        return USAGE
    _make_writable()
    with ending_signals() as told:
        code = _main(arguments)
    return told.code if code == INTERRUPTED and told.code else code


def _main(arguments: Sequence[str] | None) -> int:
    try:
        options = parser().parse_args(arguments)
        if options.log is not None and "store" in options:
            from lamina.cli._place import store_place

            store_place(options.store).spare(options.log, "A log")
        with application_log(options.log) as options.log_secrets:
            code = _command(options)
        sys.stdout.flush()
        return code
    except UsageError as error:
        _say(error.message, *error.hints)
        return error.code
    except ConstructionError as error:
        _say(str(error))
        return USAGE
    except KeyboardInterrupt:
        _say("Interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        _let_go_of_output()
        return BROKEN_PIPE
    except OSError as error:
        if not is_output_lost(error):
            raise
        _let_go_of_output()
        _say(f"The output cannot be written: {error.strerror}.")
        return FAILED


def _let_go_of_output() -> None:
    """Write what is left nowhere; the interpreter would complain when it flushes at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _make_writable() -> None:
    """Let every text be printed: a stream that was closed is replaced by none, a character that it lacks by another."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - typeshed does not say that it may be
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it is there until the process ends
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] - as above
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as above
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _command(options: argparse.Namespace) -> int:
    if options.command == "demo":
        from lamina.cli._demo import demo

        return demo(options)
    if options.command == "run":
        from lamina.cli._run import run

        return run(options)
    if options.command == "sessions":
        from lamina.cli._sessions import sessions

        return sessions(options)
    if options.command == "approvals":
        from lamina.cli._approvals import approvals

        return approvals(options)
    if options.command == "serve":
        from lamina.cli._serve import serve

        return serve(options)
    if options.command == "mcp":
        from lamina.cli._remote import mcp

        return mcp(options)
    if options.command == "contract":
        from lamina.cli._contract import contract

        return contract(options)
    from lamina.cli._check import check

    return check(options.app, mermaid=options.mermaid)


def _say(*lines: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(f"lamina: {lines[0]}", *(f"  {line}" for line in lines[1:]), sep="\n", file=sys.stderr, flush=True)
