"""Check that pyright and mypy, both strict, refuse the lines marked `# ERR` in this folder and accept all others.

Run as `python tests/typing`; names of files after it check only these. `# ERR pyright` or `# ERR mypy` marks what only
that one refuses. A mark counts for the statement that its line belongs to, since the two checkers name different lines
of a statement that spans several.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MARK = re.compile(r"#\s*ERR\b:?\s*(?P<only>pyright\b|mypy\b)?")
CHECKERS = ("pyright", "mypy")


@attrs.frozen
class Refusal:
    """One error that a checker reports, at a line of a file."""

    checker: str
    path: Path
    line: int
    message: str


def pyright(paths: Iterable[Path]) -> list[Refusal]:
    done = _run("-m", "pyright", "--pythonpath", sys.executable, "--outputjson", *map(str, paths), accepted=(0, 1))
    report = json.loads(done)
    return [
        Refusal("pyright", Path(one["file"]), one["range"]["start"]["line"] + 1, one["message"].replace("\n", " "))
        for one in report["generalDiagnostics"]
        if one["severity"] in ("error", "warning")
    ]


def mypy(paths: Iterable[Path]) -> list[Refusal]:
    done = _run("-m", "mypy", "--output", "json", *map(str, paths), accepted=(0, 1))
    found = [json.loads(line) for line in done.splitlines() if line.startswith("{")]
    return [
        Refusal("mypy", (ROOT / one["file"]).resolve(), one["line"], f"{one['message']}  [{one['code']}]")
        for one in found
        if one["severity"] == "error"
    ]


def _run(*arguments: str, accepted: tuple[int, ...]) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in accepted:
        sys.exit(f"{' '.join(arguments[:2])} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def marks(source: str) -> dict[int, str]:
    """Give each marked line with the checker that alone refuses it, or an empty string where both do."""
    lines = enumerate(source.splitlines(), start=1)
    return {line: found["only"] or "" for line, text in lines if (found := MARK.search(text))}


def starts(source: str) -> dict[int, int]:
    """Give for each line the first line of its statement; of a compound statement, its head is one by itself."""
    first: dict[int, int] = {}
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None)
        decorators = getattr(node, "decorator_list", [])
        begin = min([node.lineno, *(one.lineno for one in decorators)])
        end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
        for line in range(begin, max(begin, end) + 1):
            # The innermost statement wins: `walk` visits outer ones first.
            first[line] = begin
    return first


def differences(path: Path, source: str, refusals: Iterable[Refusal]) -> Iterator[str]:
    """Give a sentence for each marked statement that a checker accepts, and each unmarked one that it refuses."""
    first = starts(source)
    marked = {checker: {first.get(n, n): n for n, only in marks(source).items() if only in ("", checker)}
              for checker in CHECKERS}  # fmt: skip
    refused: dict[str, set[int]] = {checker: set() for checker in CHECKERS}
    for one in refusals:
        start = first.get(one.line, one.line)
        refused[one.checker].add(start)
        if start not in marked[one.checker]:
            yield f"{path}:{one.line}: {one.checker} refuses a line that is not marked: {one.message}"
    for checker in CHECKERS:
        for start, line in sorted(marked[checker].items()):
            if start not in refused[checker]:
                yield f"{path}:{line}: {checker} accepts a line that is marked ERR"


def main() -> None:
    asked = [Path(name).resolve() for name in sys.argv[1:]]
    paths = asked or sorted(path for path in HERE.rglob("*.py") if path.name != "__main__.py")
    if not paths:
        print("typing: no file to check")
        return
    refusals = [*pyright(paths), *mypy(paths)]
    wrong = 0
    lines = 0
    for path in paths:
        source = path.read_text(encoding="utf-8")
        lines += len(marks(source))
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        for sentence in differences(shown, source, [one for one in refusals if one.path == path]):
            print(sentence)
            wrong += 1
    # An error in a file that was not asked for (the package itself) would otherwise go unseen.
    for one in refusals:
        if one.path not in paths:
            print(f"{one.path}:{one.line}: {one.checker}: {one.message}")
            wrong += 1
    print(f"typing: {len(paths)} files, {lines} lines that must be refused, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
