"""What lamina is held to, and whether it was met."""

from __future__ import annotations

import math

import attrs


@attrs.frozen
class Verdict:
    """One figure and its bound.

    Attributes:
        what: What was measured.
        value: The figure; NaN where it was not.
        unit: Its unit.
        bound: What it may be at most, or at least.
        least: Whether the bound is a lower one.
    """

    what: str
    value: float
    unit: str
    bound: float
    least: bool = False

    @property
    def met(self) -> bool:
        return not math.isnan(self.value) and (self.value >= self.bound if self.least else self.value <= self.bound)

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"{self.what:58}not measured"
        kind, missed = ("at least", "UNDER") if self.least else ("at most", "OVER")
        said = "ok" if self.met else missed
        return f"{self.what:58}{self.value:8.2f} {self.unit:3} {kind} {self.bound:g}: {said}"
