"""`lamina contract`: what agents may do with an application, as a file that is committed, and held against the code."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import shlex
import sys
from pathlib import Path
from typing import Any, cast

from rich.text import Text

from lamina.cli._exits import FAILED, OK, UsageError
from lamina.cli._load import Wanted, load
from lamina.cli._plain import count, escaped, printable
from lamina.cli._screen import Screen
from lamina.contract import BoundContract, Contract
from lamina.schema import JsonValue

_CONTRACT = Wanted(
    "CONTRACT",
    (Contract, BoundContract),
    "lamina.demo.todo:contract",
    "write contract = Contract.of(Model, messages=Message).variant(...) at its top level.",
)
_LARGEST = 64 * 1_048_576
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def contract(options: argparse.Namespace) -> int:
    """Print a contract's manifest or page, or hold a committed manifest against it.

    Returns:
        0; 1 where the committed manifest differs.

    Raises:
        UsageError: There is no such contract, or a file cannot be read or written.
        ConstructionError: The module itself puts together what cannot be.
    """
    found = _load(options.contract)
    if options.check is not None:
        if options.output is not None:
            raise UsageError("--check writes nothing, so --output has no use with it.")
        return _check(found, options.contract, options.check)
    text = found.manifest_json() if options.manifest else found.markdown()
    if options.output is None:
        _print(text)
    else:
        _write(options.output, text)
    return OK


def _load(target: str) -> Contract[Any, Any, Any, Any, Any]:  # Any: the contract of whatever application was named
    with contextlib.redirect_stdout(sys.stderr):  # what the module prints is not the manifest's
        found = load(target, _CONTRACT).value
    if isinstance(found, BoundContract):
        bound = cast("BoundContract[Any, Any]", found)  # type: ignore[redundant-cast]  # to pyright the types are unknown
        return bound.contract
    return cast("Contract[Any, Any, Any, Any, Any]", found)


def _print(text: str) -> None:
    """Print as UTF-8, the same bytes everywhere; a terminal gets no control character of a description's."""
    if sys.stdout.isatty() or not hasattr(sys.stdout, "buffer"):
        sys.stdout.write("\n".join(map(escaped, text.split("\n"))))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(_bytes(text))


def _bytes(text: str) -> bytes:
    # Half a surrogate pair, which Python's text may hold, has no UTF-8.
    return text.encode(errors="replace")


def _write(file: Path, text: str) -> None:
    try:
        file.write_bytes(_bytes(text))
    except (OSError, ValueError) as error:
        raise UsageError(f"{printable(str(file))} cannot be written: {_why(error)}.") from None


def _check(found: Contract[Any, Any, Any, Any, Any], target: str, file: Path) -> int:
    committed = _read(file)
    if _sorted(committed) == _sorted(found.manifest()):
        return OK
    before, after = _lines(committed), found.manifest_json().splitlines()
    screen = Screen()
    removed = added = 0
    for line in difflib.unified_diff(before, after, printable(str(file)), target, lineterm=""):
        removed += line.startswith("-") and not line.startswith("---")
        added += line.startswith("+") and not line.startswith("+++")
        screen.raw(Text(escaped(line), style=_STYLES.get(line[:1], "")))
    print(
        f"lamina: {target} is not what {printable(str(file))} says: "
        f"{count(added, 'line')} new, {count(removed, 'line')} gone.",
        f"  To accept it: lamina contract {target} --manifest --output {shlex.quote(printable(str(file)))}",
        sep="\n",
        file=sys.stderr,
    )
    return FAILED


def _sorted(value: JsonValue) -> str:
    # Not as `canonical_json`: a description may hold what that refuses.
    return json.dumps(value, sort_keys=True)


def _lines(value: JsonValue) -> list[str]:
    return json.dumps(value, indent=2, ensure_ascii=False).splitlines()


def _read(file: Path) -> JsonValue:
    name = printable(str(file))
    hint = "Make it with --manifest --output FILE, and commit it."
    try:
        with file.open("rb") as opened:
            read = opened.read(_LARGEST + 1)  # a device has no size, and may have no end
        if len(read) > _LARGEST:
            raise UsageError(f"{name} is larger than any manifest.")
        text = read.decode("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"There is no file {name}.", hint) from None
    except UnicodeDecodeError:
        raise UsageError(f"{name} is no UTF-8 text.") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{name} cannot be read: {_why(error)}.") from None
    try:
        value = json.loads(text, parse_constant=_no_number)
        _sorted(value)
    except json.JSONDecodeError as error:
        raise UsageError(f"{name}:{error.lineno}: it is no JSON: {error.msg}.", hint) from None
    except (ValueError, RecursionError):
        raise UsageError(f"{name} is no JSON that a manifest could be.", hint) from None
    return cast("JsonValue", value)


def _no_number(word: str) -> float:
    raise ValueError(word)


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or printable(str(error))
