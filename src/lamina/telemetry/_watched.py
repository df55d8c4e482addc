"""One operation while it runs: what is noted of it, and how it ends."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Self, cast

from returns.result import Failure

from lamina.effect import tag_of
from lamina.redaction import shape
from lamina.telemetry._ambient import LONGEST_NAME, Ambient
from lamina.telemetry.port import Attribute, Began, Ended, Ending, Observation

MOST_ATTRIBUTES = 32


class Watched:
    """An operation that nobody observes: everything said of it is forgotten. `with` it round what it does.

    Attributes:
        live: Whether somebody observes it; where not, nothing has to be made to be said of it.
    """

    __slots__ = ()
    live = False

    def note(self, attributes: Mapping[str, object]) -> None:
        """Add attributes that are known now; texts are told under the names that the operation declares only."""

    def retried(self) -> None:
        """Count one more retry."""

    def ended(self, outcome: Ending | None, category: str | None = None) -> None:
        """Say how it ends where neither an exception nor a `Result` does; None where it was interrupted.

        `category` is a tag, never a sentence.
        """

    def returned(self, answer: object) -> None:
        """Take its answer: a `Failure` counts as one, with its error's tag as the category."""

    def moved(self, conversation: str) -> None:
        """Say that it goes on in another conversation than the one it began in."""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End; whatever was raised goes on."""


UNOBSERVED = Watched()
"""What observes nothing: one and the same object for all."""
WATCHED: ContextVar[Live | None] = ContextVar("lamina_operation", default=None)


class Live(Watched):
    """An operation that somebody observes."""

    __slots__ = (
        "_ambient",
        "_attributes",
        "_began",
        "_category",
        "_names",
        "_observation",
        "_outcome",
        "_retries",
        "_since",
        "_token",
        "is_over",
        "key",
    )
    live = True

    def __init__(
        self,
        ambient: Ambient,
        name: str,
        version: int,
        names: frozenset[str],
        resource: str | None,
        attributes: Mapping[str, object] | None,
        key: object = None,
    ) -> None:
        self._ambient = ambient
        self._names = names
        self._began = Began(
            name=name,
            version=version,
            run=ambient.run,
            conversation=ambient.conversation,
            agent=ambient.agent,
            resource=ambient.name(resource),
            attributes=self._fit(attributes or {}),
        )
        self._attributes: dict[str, Attribute] = {}
        self._retries = 0
        self._outcome: Ending | None = "success"
        self._category: str | None = None
        self._observation: Observation | None = None
        self._since = 0.0
        self._token: Token[Live | None] | None = None
        self.key = key
        self.is_over = False

    def note(self, attributes: Mapping[str, object]) -> None:
        """Add attributes; see `Watched.note`."""
        fit = self._fit(attributes)
        room = MOST_ATTRIBUTES - len(self._attributes)
        self._attributes |= dict(list(fit.items())[: max(0, room)])

    def retried(self) -> None:
        """Count one more retry."""
        self._retries += 1

    def ended(self, outcome: Ending | None, category: str | None = None) -> None:
        """Say how it ends; see `Watched.ended`."""
        self._outcome, self._category = outcome, category

    def returned(self, answer: object) -> None:
        """Take its answer; see `Watched.returned`."""
        if isinstance(answer, Failure):
            error = cast("Failure[object]", answer).failure()
            self._outcome, self._category = "failure", category_of(error)

    def __enter__(self) -> Self:
        """Tell that it begins."""
        self._since = self._ambient.now()
        try:
            self._observation = self._ambient.telemetry.begin(self._began)
        except Exception:
            self._ambient.broke()
        self._token = WATCHED.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Tell how it ended; whatever was raised goes on."""
        self.is_over = True
        if self._token is not None:
            _give_back(self._token)
        outcome = self._outcome
        category = self._category
        if isinstance(error, Exception):
            outcome, category = "defect", type(error).__name__
        elif error is not None:  # a cancellation: nobody knows how it would have ended
            outcome, category = None, "interrupted"
        if self._observation is None:
            return
        ended = Ended(
            outcome=outcome,
            duration=self._ambient.now() - self._since,
            retries=self._retries,
            category=self._ambient.name(category),
            attributes=self._attributes,
        )
        try:
            self._observation.end(ended)
        except Exception:
            self._ambient.broke()

    def _fit(self, attributes: Mapping[str, object]) -> dict[str, Attribute]:
        fit: dict[str, Attribute] = {}
        for key, value in attributes.items():
            if value is None or len(fit) == MOST_ATTRIBUTES:
                continue
            if isinstance(value, bool | int | float):
                fit[key] = value
            elif isinstance(value, str) and key in self._names:
                fit[key] = self._ambient.name(value) or ""
            else:
                kind = shape(value)
                fit[key] = kind if isinstance(kind, str) else "[REDACTED:object]"
        return fit


def retried() -> None:
    """Count a retry of the operation that runs in this task, if somebody observes it."""
    watched = WATCHED.get()
    if watched is not None:
        watched.retried()


def category_of(error: object) -> str:
    """Give an error's tag, and after a dot the tag of its reason or its cause.

    Example:
        >>> from lamina.effect import tagged
        >>> @tagged("Too many requests.")
        ... class RateLimited: ...
        >>> @tagged("The model failed.")
        ... class ModelFailed:
        ...     reason: RateLimited
        >>> category_of(ModelFailed(RateLimited()))
        'ModelFailed.RateLimited'
    """
    tag = tag_of(error)
    for name in ("reason", "cause"):
        try:
            inner: object = getattr(error, name, None)
        except Exception:  # noqa: S112 - a property of the application's own
            continue
        if hasattr(type(inner), "__tag__"):
            return f"{tag}.{tag_of(inner)}"[:LONGEST_NAME]
    return tag[:LONGEST_NAME]


def _give_back(token: Token[Live | None]) -> None:
    try:
        WATCHED.reset(token)
    except ValueError:  # left in another context than it was entered in, by a generator that was closed
        WATCHED.set(None)
