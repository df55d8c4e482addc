"""Markdown pages as programs: what `test_pages.py` runs.

The Python blocks of a page are one program, run from top to bottom in an empty folder. A comment on the line above a
block says more about it:

- `<!-- test: skip, REASON -->` leaves a Python block out.
- `<!-- test: file app.py -->` also writes a block of any language into the page's folder.
- `<!-- test: run -->` runs a shell block; a line that begins with `$ ` is a command, and the rest what it prints.
- `<!-- test: output -->` holds a block against what the Python block before it printed. `...` stands for anything.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import attrs
from markdown_it import MarkdownIt

DIRECTIVE = re.compile(r"<!--\s*test:\s*(?P<verb>\w+)[\s,]*(?P<rest>.*?)\s*-->")
VERBS = {"skip", "file", "run", "output"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class PageError(AssertionError):
    """A block that does not do what its page says, with the page and the line."""


@attrs.frozen
class Block:
    """A fenced block: its language, its text, the line its text starts at, and what the comment above it asks."""

    page: str
    language: str
    text: str
    line: int
    verb: str = ""
    rest: str = ""

    def wrong(self, why: str) -> PageError:
        return PageError(f"{self.page}:{self.line}: {why}")


def blocks(page: str, text: str) -> Iterator[Block]:
    """Find the fenced blocks of a page, in order."""
    asked: tuple[str, str] | None = None
    for token in MarkdownIt().parse(text):
        if token.type == "html_block" and (found := DIRECTIVE.fullmatch(token.content.strip())):
            asked = (found["verb"], found["rest"])
            if asked[0] not in VERBS:
                raise PageError(f"{page}: unknown directive test: {asked[0]}")
        elif token.type == "fence":
            assert token.map is not None
            language = token.info.split()[0] if token.info.strip() else ""
            yield Block(page, language, token.content, token.map[0] + 2, *(asked or ()))
            asked = None
        elif asked and token.type.endswith("_open"):
            raise PageError(f"{page}: test: {asked[0]} stands above something that is no block")


def run_page(path: Path, page: str, folder: Path) -> int:
    """Run a page in a folder, and give how many of its blocks were run or compared.

    The caller has made the folder the current one.
    """
    module = types.ModuleType("page_" + re.sub(r"\W", "_", page))
    module.__file__ = str(path)
    # Annotations of classes that a page defines are resolved through sys.modules.
    sys.modules[module.__name__] = module
    printed = ""
    count = 0
    try:
        for block in blocks(page, path.read_text(encoding="utf-8")):
            if block.verb == "file":
                (folder / block.rest).write_text(block.text, encoding="utf-8")
            if block.verb == "output":
                _compare(block, block.text, printed)
            elif block.verb == "run":
                _run_shell(block, folder)
            elif block.language == "python" and block.verb == "skip":
                if not block.rest:
                    raise block.wrong("test: skip gives no reason")
                continue
            elif block.language == "python":
                printed = _run_python(block, path, module)
            else:
                continue
            count += 1
    finally:
        del sys.modules[module.__name__]
    return count


def _run_python(block: Block, path: Path, module: types.ModuleType) -> str:
    # Padded, so that a traceback names the page's own line.
    code = compile("\n" * (block.line - 1) + block.text, str(path), "exec", dont_inherit=True)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, module.__dict__)
    return out.getvalue()


def _run_shell(block: Block, folder: Path) -> None:
    # The programs of this environment first, and the folder's own modules importable.
    env = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "PYTHONPATH": str(folder),
        "COLUMNS": "100",
    }
    for command, expected in _commands(block.text):
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=120,
        )  # fmt: skip
        if expected:
            _compare(block, expected, done.stdout + done.stderr)
        elif done.returncode != 0:
            raise block.wrong(f"`{command}` ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def _commands(text: str) -> list[tuple[str, str]]:
    if not text.startswith("$ "):
        return [(text, "")]
    found = []
    for part in re.split(r"(?m)^\$ ", text)[1:]:
        command, _, expected = part.partition("\n")
        found.append((command, expected if expected.strip() else ""))
    return found


def _compare(block: Block, expected: str, actual: str) -> None:
    if not doctest.OutputChecker().check_output(expected, actual, FLAGS):
        raise block.wrong(f"expected:\n{expected}\ngot:\n{actual}")
