"""The one error that programmer mistakes raise, with every problem in it (design §2.2)."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from lamina.effect._value import Value


@attrs.frozen(eq=False, repr=False)
class Problem(Value):
    """One thing that is wrong with a program, found before anything was acquired.

    Attributes:
        kind: What sort of problem, in capitals: `MISSING`, `DUPLICATE`, `CYCLE`, …
        subject: What it is about, most often a service's name.
        lines: Who is affected and where, one line each.
        write: The line that mends it, where one can be told.

    Example:
        >>> print(Problem("MISSING", "Clock", ("handler tick  app.py:3",), "| bind(Clock).to(SystemClock)"))
        MISSING Clock
          handler tick  app.py:3
          write: | bind(Clock).to(SystemClock)
    """

    kind: str
    subject: str
    lines: tuple[str, ...] = ()
    write: str | None = None

    def __str__(self) -> str:
        """Render the block that a person reads."""
        mend = () if self.write is None else (f"write: {self.write}",)
        return "\n  ".join((f"{self.kind} {self.subject}", *self.lines, *mend))


class ConstructionError(TypeError):
    """A program that cannot be built; it lists every problem at once (CAP-002).

    Raised by `build`, and by the constructors of tools, agents and layers. It is never raised once a runtime is open,
    except for a program that the runtime had not seen before.

    Example:
        >>> raise ConstructionError([Problem("MISSING", "Clock")])
        Traceback (most recent call last):
        ...
        lamina.effect._construction.ConstructionError: 1 problem; nothing was started
        <BLANKLINE>
        MISSING Clock
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        count = len(self.problems)
        head = f"{count} problem{'' if count == 1 else 's'}; nothing was started"
        super().__init__("\n\n".join((head, *map(str, self.problems))))
