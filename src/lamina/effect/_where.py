"""Where a value was written down: the `file:line` that every construction report names."""

from __future__ import annotations

import inspect
import os
import sys
from functools import cache
from types import CodeType, FrameType
from typing import cast

import attrs

from lamina.effect._value import Value

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# The demo is an application like any other, although it comes with the package.
_DEMO = os.path.join(_PACKAGE, "demo") + os.sep
_TYPING = cast.__code__.co_filename


@attrs.frozen(eq=False, repr=False)
class Where(Value):
    """A place in source code; its text is `path:line`, relative to the working directory where that is shorter.

    Example:
        >>> str(Where("app/tools.py", 31))
        'app/tools.py:31'
    """

    file: str
    line: int

    def __str__(self) -> str:
        """Render as `path:line`."""
        path = self.file
        if os.path.isabs(path):
            relative = os.path.relpath(path)
            path = path if relative.startswith(os.pardir) else relative
        return f"{path}:{self.line}" if self.line else path


UNKNOWN = Where("<unknown>", 0)


def where_of(obj: object) -> Where:
    """Give the place where a function, class or method was defined, without reading any source.

    `inspect.getsourcelines` parses a class's whole module; a code object knows its line already.

    Example:
        >>> where_of(len)
        Where(file='builtins', line=0)
    """
    target = inspect.unwrap(obj) if callable(obj) else obj
    code = _code_of(target)
    if code is not None:
        return Where(code.co_filename, code.co_firstlineno)
    if isinstance(target, type):
        return _where_of_class(target)
    module = cast("str | None", getattr(target, "__module__", None))
    return Where(module, 0) if module else UNKNOWN


def _code_of(target: object) -> CodeType | None:
    function = getattr(target, "__func__", target)
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _where_of_class(cls: type) -> Where:
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None) or cls.__module__
    first = cls.__dict__.get("__firstlineno__")  # Python 3.13 and newer
    if isinstance(first, int):
        return Where(file, first)
    own = (_code_of(member) for member in vars(cls).values())
    lines = [code.co_firstlineno for code in own if code is not None and code.co_filename == file]
    return Where(file, min(lines)) if lines else Where(file, 0)


def caller_where() -> Where:
    """Give the place of the nearest caller outside lamina itself.

    A layer, a tool or an agent is declared by a call; this is the line of that call.
    """
    frame = _caller()
    return _where_in(frame.f_code.co_filename, frame.f_lineno) if frame is not None else UNKNOWN


@cache
def _where_in(file: str, line: int) -> Where:
    return Where(file, line)


def place_of(obj: object) -> Where:
    """Give the place where something was defined, or, where that has no line to look at, the line that uses it."""
    place = where_of(obj)
    return place if place.line else caller_where()


def caller_locals() -> dict[str, object]:
    """Give the local names of the nearest caller outside lamina itself, in which an annotation may be at home."""
    frame = _caller()
    return dict(frame.f_locals) if frame is not None else {}


def _caller() -> FrameType | None:
    frame: FrameType | None = inspect.currentframe()
    while frame is not None and _is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _is_own(file: str) -> bool:
    # What attrs generates, and `Generic[T](...)` in typing, have no place of their own: who calls them has.
    between = file == _TYPING or file.startswith("<attrs generated ")
    return between or (file.startswith(_PACKAGE) and not file.startswith(_DEMO))
