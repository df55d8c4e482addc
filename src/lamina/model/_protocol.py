"""A response that breaks the rules: typed, bounded, and without a word of the model's (MODEL-003)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from lamina.effect import tagged

Rule: TypeAlias = Literal[
    "unknown-part",
    "malformed-part",
    "not-unicode",
    "not-json",
    "too-many-parts",
    "too-large",
    "identifier",
    "pairing",
    "duplicate-call",
    "params-incomplete",
    "params-mismatch",
    "undeclared-result",
    "result-mismatch",
    "duplicate-result",
    "missing-result",
    "after-finish",
    "no-finish",
    "usage",
    "truncated",
    "content-filter",
    "finish-reason",
    "tool-choice",
]
"""Which rule was broken."""


@tagged("The model's response broke the protocol ({rule}): {detail}.")
class ModelProtocolError:
    """A response that is not used, and never mended: no call of it runs.

    Attributes:
        rule: Which rule.
        detail: One fixed phrase about it, which quotes nothing of the response.

    Example:
        >>> str(ModelProtocolError("no-finish", "the response ended without a finish"))
        "The model's response broke the protocol (no-finish): the response ended without a finish."
    """

    rule: Rule
    detail: str


class Violation(Exception):
    """Ends the reduction of a part from wherever it is found; it never leaves `Reducer.feed`."""

    def __init__(self, rule: Rule, detail: str) -> None:
        super().__init__(detail)
        self.error = ModelProtocolError(rule, detail)
