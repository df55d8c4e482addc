"""The `>>>` examples in the docstrings of the package, each docstring a test of its own.

An example sees the names of its module. One that awaits defines `async def main()` and ends with `anyio.run(main)`.
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator

import pytest

import lamina

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def modules() -> list[str]:
    names = [found.name for found in pkgutil.walk_packages(lamina.__path__, "lamina.", onerror=lambda name: None)]
    return ["lamina", *sorted(name for name in names if not name.endswith("__main__"))]


def examples() -> Iterator[object]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in modules():
        try:
            module = importlib.import_module(name)
        except Exception as error:  # one module that cannot be imported is one failure, not the end of the collection
            yield pytest.param(error, id=name)
            continue
        yield from (pytest.param(found, id=found.name) for found in finder.find(module, name) if found.examples)


@pytest.mark.parametrize("example", list(examples()))
def test_example(example: doctest.DocTest | Exception) -> None:
    if isinstance(example, Exception):
        raise example
    said: list[str] = []

    outcome = doctest.DocTestRunner(optionflags=FLAGS).run(example, out=said.append, clear_globs=False)

    if outcome.failed:
        pytest.fail("".join(said), pytrace=False)
