"""The command line."""

from __future__ import annotations

import argparse
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from lamina.cli._exits import UsageError
from lamina.cli._models import MODEL_HELP

_APP_HELP = "a RuntimeBuilder in a module: lamina.demo:app; modules of the current directory are found too"


class _Parser(argparse.ArgumentParser):
    """Raises what argparse would print, so that all mistakes look alike."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(
            f"{message[:1].upper()}{message[1:]}.", self.format_usage().strip().replace("usage:", "Usage:")
        )


class _Version(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"lamina {version('lamina')}")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    """Make the parser of `lamina`."""
    root = _Parser("lamina", description="Watch a demo, run an agent, check an application.")
    root.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)

    demo = commands.add_parser("demo", help="watch an agent triage a folder of bug reports")
    demo.add_argument(
        "folder", nargs="?", type=Path, metavar="FOLDER", help="text files to work on, in place; else a copy of ours"
    )
    _add_run_options(demo)

    run = commands.add_parser("run", help="run an agent of an application")
    run.add_argument("app", metavar="MODULE:APP", help=_APP_HELP)
    run.add_argument(
        "words", nargs="+", metavar="[AGENT] INPUT", help="the input, JSON unless the agent takes text, or - to read it"
    )
    _add_run_options(run)

    check = commands.add_parser("check", help="check an application, and run nothing")
    check.add_argument("app", metavar="MODULE:APP", help=_APP_HELP)
    check.add_argument("--mermaid", action="store_true", help="print the graph of layers as Mermaid text")
    check.set_defaults(log=None)
    return root


def _add_run_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--model", metavar="MODEL", help=MODEL_HELP)
    command.add_argument("--base-url", metavar="URL", help="where the API of openai:NAME is: Ollama, vLLM, …")
    command.add_argument("--yes", action="store_true", help="allow every call that needs approval")
    command.add_argument("--json", action="store_true", help="print one event a line, and the result as the last")
    command.add_argument("--log", type=Path, metavar="FILE", help="append the application's own log to a file")
