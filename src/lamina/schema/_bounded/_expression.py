"""Regular expressions of ECMA-262, as JSON Schema has them, applied in time linear to the text by RE2.

What RE2 does not have cannot be matched in linear time by anything known: looking around, and referring back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from time import thread_time_ns

from lamina.schema._bounded._work import GaveUp, Work

LONGEST_EXPRESSION = 4_096
_MEMORY = 1 << 18  # bytes for the compiled expression: one that needs more is refused
_LARGEST = _MEMORY // 48
_BYTES_A_STEP = 32  # of text times instructions: measured at 15 ns each where RE2 is slowest, and a step at 0.5 us
_NS_A_STEP = 500
_STEPS_A_CALL = 4
_FEW_STEPS = 16
_MOST_STEPS_A_CALL = 1_000_000  # half a second

_SPACES = (  # what \s is in ECMA-262
    (0x9, 0xD),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)
_LAST = 0x10FFFF
_ANY = r"[\x{0}-\x{10ffff}]"
_NONE = r"[^\x{0}-\x{10ffff}]"
_DOT = r"[^\n\r\x{2028}\x{2029}]"
_REPEAT = re.compile(r"\{[0-9]+(?:,[0-9]*)?\}", re.ASCII)
_CATEGORY = re.compile(r"\{(?:(?:General_Category|gc|Script|sc)=)?([A-Za-z_]{1,32})\}", re.ASCII)
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}", re.ASCII)
_CONTROLS = {"n": 0xA, "r": 0xD, "t": 0x9, "f": 0xC, "v": 0xB}
_LONG_NAMES = {
    "Letter": "L",
    "Lowercase_Letter": "Ll",
    "Uppercase_Letter": "Lu",
    "Titlecase_Letter": "Lt",
    "Mark": "M",
    "Number": "N",
    "Decimal_Number": "Nd",
    "digit": "Nd",
    "Punctuation": "P",
    "Symbol": "S",
    "Separator": "Z",
    "Space_Separator": "Zs",
    "Other": "C",
}


class _Inexpressible(Exception):
    """RE2 has nothing that means the same."""


class Expression:
    """An expression that is searched for; see `expression_of`."""

    __slots__ = ("_search", "_size")

    def __init__(self, search: Callable[[bytes], object], size: int) -> None:
        self._search = search
        self._size = size

    def found(self, text: str, work: Work) -> bool:
        """Tell whether it is found anywhere in a text.

        Raises:
            GaveUp: It might take too long.
        """
        data = text.encode("utf-8", "replace")
        worst = self._size * len(data) // _BYTES_A_STEP
        if worst <= _FEW_STEPS:
            work.spend(_STEPS_A_CALL + worst)
            return self._search(data) is not None
        # RE2 takes the worst time of few expressions only, and nothing tells beforehand of which: the time is measured.
        if worst > _MOST_STEPS_A_CALL:
            raise GaveUp
        began = thread_time_ns()
        found = self._search(data) is not None
        work.spend(_STEPS_A_CALL + (thread_time_ns() - began) // _NS_A_STEP)
        return found


def expression_of(pattern: str) -> Expression | None:
    """Compile an expression; None for one that is none, or that cannot be applied in linear time."""
    if len(pattern) > LONGEST_EXPRESSION:
        return None
    try:
        re2 = import_module("re2")  # by name: it has no types
    except ImportError:  # there is no wheel for this machine: then no expression is applied
        return None
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    options.never_capture = True
    try:
        compiled = re2.compile(_Translation(pattern).whole().encode(), options)
    except (_Inexpressible, re2.error):
        return None
    # How large it is only the inner object tells; without it, it counts as the largest that this memory holds.
    size = getattr(getattr(compiled, "_regexp", None), "ProgramSize", lambda: _LARGEST)
    return Expression(compiled.search, size())


class _Translation:
    """One expression on its way from one dialect to the other."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def whole(self) -> str:
        """Give it as RE2 writes it.

        Raises:
            _Inexpressible: It cannot be said.
        """
        out: list[str] = []
        while self._at < len(self._pattern):
            out.append(self._one())
        return "".join(out)

    def _one(self) -> str:
        sign = self._take()
        match sign:
            case "\\":
                return self._escape()
            case "[":
                return self._class()
            case "(":
                return self._group()
            case ".":
                return _DOT
            case "^":
                return r"\A"
            case "$":
                return r"\z"
            case "{":
                found = _REPEAT.match(self._pattern, self._at - 1)
                if found is None:
                    return r"\{"
                self._at = found.end()
                return found.group()
            case "*" | "+" | "?" | "|" | ")":
                return sign
            case _:
                return _point(ord(sign))

    def _take(self) -> str:
        if self._at >= len(self._pattern):
            raise _Inexpressible
        self._at += 1
        return self._pattern[self._at - 1]

    def _next_is(self, text: str) -> bool:
        if self._pattern.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _group(self) -> str:
        if not self._next_is("?") or self._next_is(":"):
            return "(?:"
        if not self._next_is("<") or self._pattern[self._at : self._at + 1] in ("=", "!", ""):
            raise _Inexpressible
        end = self._pattern.find(">", self._at)
        if not self._pattern[self._at : end].isidentifier():
            raise _Inexpressible
        self._at = end + 1
        return "(?:"

    def _escape(self) -> str:
        sign = self._pattern[self._at : self._at + 1]
        if sign and sign in "bB":
            self._at += 1
            return f"\\{sign}"
        members = self._set()
        return _point(self._character()) if members is None else f"[{members}]"

    def _set(self) -> str | None:
        """Read what stands for many characters, as members of a class; None for what stands for one."""
        sign = self._pattern[self._at : self._at + 1]
        if not sign or sign not in "dDwWsSpP":
            return None
        self._at += 1
        if sign == "s":
            return _ranges(_SPACES)
        if sign == "S":
            return _ranges(_beside(_SPACES))
        if sign not in "pP":
            return f"\\{sign}"
        found = _CATEGORY.match(self._pattern, self._at)
        if found is None:
            raise _Inexpressible
        self._at = found.end()
        name = found.group(1)
        return f"\\{sign}{{{_LONG_NAMES.get(name, name)}}}"

    def _character(self) -> int:
        """Read one character after a backslash."""
        found = _HEX.match(self._pattern, self._at)
        if found is not None:
            self._at = found.end()
            return self._paired(int(found.group(1) or found.group(2) or found.group(3), 16))
        sign = self._take()
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        if sign == "0" and not self._pattern[self._at : self._at + 1].isdecimal():
            return 0
        if sign == "c":
            letter = self._take()
            if not (letter.isascii() and letter.isalpha()):
                raise _Inexpressible
            return ord(letter) % 32
        if sign.isalnum() or sign == "_" or not sign.isascii():
            raise _Inexpressible  # refers back, or says something else elsewhere
        return ord(sign)

    def _paired(self, point: int) -> int:
        """Put two surrogates together: \\ud83d\\ude00 is one character."""
        if not 0xD800 <= point < 0xE000:
            return point
        low = _HEX.match(self._pattern, self._at) if self._next_is("\\") else None
        if point >= 0xDC00 or low is None or not 0xDC00 <= int(low.group(2) or "0", 16) < 0xE000:
            raise _Inexpressible
        self._at = low.end()
        return 0x10000 + ((point - 0xD800) << 10) + int(low.group(2), 16) - 0xDC00

    def _class(self) -> str:
        negated = self._next_is("^")
        members: list[str] = []
        while not self._next_is("]"):
            low = self._member()
            if isinstance(low, str):
                members.append(low)
                continue
            after = self._pattern[self._at + 1 : self._at + 2]
            if self._pattern[self._at : self._at + 1] != "-" or after in ("]", ""):
                members.append(_point(low))
                continue
            self._at += 1
            high = self._member()
            if isinstance(high, str):
                members += [_point(low), r"\-", high]
            elif low > high:
                raise _Inexpressible
            else:
                members.append(f"{_point(low)}-{_point(high)}")
        if not members:
            return _ANY if negated else _NONE
        return f"[{'^' if negated else ''}{''.join(members)}]"

    def _member(self) -> int | str:
        """Read one member of a class: a character, or what stands for many."""
        if not self._next_is("\\"):
            return ord(self._take())
        if self._next_is("b"):
            return 8
        if self._next_is("-"):
            return ord("-")
        members = self._set()
        return self._character() if members is None else members


def _point(point: int) -> str:
    if 0xD800 <= point < 0xE000 or point > _LAST:
        raise _Inexpressible
    character = chr(point)
    return character if character.isascii() and character.isalnum() else f"\\x{{{point:x}}}"


def _ranges(ranges: tuple[tuple[int, int], ...]) -> str:
    return "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges)


def _beside(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Give all the others."""
    lows = (0, *(high + 1 for _, high in ranges))
    highs = (*(low - 1 for low, _ in ranges), _LAST)
    return tuple(zip(lows, highs, strict=True))
