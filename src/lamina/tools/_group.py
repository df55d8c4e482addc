"""Named concurrency groups: a limit that several tools share."""

from __future__ import annotations

import attrs

from lamina.effect import ConstructionError, Problem, caller_where


@attrs.frozen(eq=False)
class ConcurrencyGroup:
    """At most `limit` calls of the group's tools run at once in a runtime, over all runs.

    When to use: several tools share something narrow, a database connection or an account with a rate limit.

    Example:
        >>> github = ConcurrencyGroup("github", 2)
    """

    name: str
    limit: int

    def __attrs_post_init__(self) -> None:
        if self.limit < 1:
            line = f"limit is {self.limit}  {caller_where()}"
            raise ConstructionError([Problem("LIMIT", f"ConcurrencyGroup {self.name}", (line,), "limit=1 or more")])
