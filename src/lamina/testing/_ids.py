"""Identifiers that a test can foresee."""

from __future__ import annotations

from collections import Counter

from lamina.effect import Ids


class FixedIds(Ids):
    """The `Ids` for tests: each kind is counted from 1.

    Example:
        >>> ids = FixedIds()
        >>> ids.new("run"), ids.new("call"), ids.new("run")
        ('run-1', 'call-1', 'run-2')
    """

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made = Counter[str]()

    def new(self, kind: str) -> str:
        """Give `kind-` and the next number."""
        self._made[kind] += 1
        return f"{kind}-{self._made[kind]}"
