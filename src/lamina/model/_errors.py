"""Why a model could not answer: one error, with a reason that says what to do about it (MODEL-007).

    ModelError
      reason: RateLimited | ProviderDown | ConnectionLost | TimedOut | InvalidOutput        worth another try
              Authentication | PermissionDenied | QuotaExhausted | UnknownModel             the account's
              ContextOverflow | ContentPolicy | InvalidRequest | Unsupported                the request's
              Unclassified                                                                  nobody knows

Each sentence is fixed and quotes nothing of the provider's: what the provider said is on `ModelError.detail`, bounded,
for the application's own eyes.
"""

from __future__ import annotations

import math
from typing import ClassVar, TypeAlias

import attrs

from lamina.effect import tagged
from lamina.model._foreign import bounded, tag_of_foreign, words_of_foreign


@tagged("The model's provider limits the rate of requests.")
class RateLimited:
    """Too many requests; `retry_after` is in seconds, where the provider said."""

    retry_after: float | None = None
    retryable: ClassVar[bool] = True


@tagged("The model's provider cannot answer now.")
class ProviderDown:
    """The provider failed, or is overloaded: its HTTP status, and in seconds when to come back, where it said."""

    status: int | None = None
    retry_after: float | None = None
    retryable: ClassVar[bool] = True


@tagged("The connection to the model's provider was lost.")
class ConnectionLost:
    """There was no connection, or it broke before the response was complete."""

    retryable: ClassVar[bool] = True


@tagged("The model's provider did not answer in time.")
class TimedOut:
    """The adapter's own time limit passed."""

    retryable: ClassVar[bool] = True


@tagged("The model's provider sent a response that cannot be read.")
class InvalidOutput:
    """What arrived is not what the provider's protocol says; another sample may be."""

    retryable: ClassVar[bool] = True


@tagged("The model's provider did not accept the credentials.")
class Authentication:
    """No key, a wrong one, or one that has expired."""

    retryable: ClassVar[bool] = False


@tagged("The credentials do not allow this request to the model's provider.")
class PermissionDenied:
    """The key is good, but not for this."""

    retryable: ClassVar[bool] = False


@tagged("The quota at the model's provider is used up.")
class QuotaExhausted:
    """Waiting a moment does not help: a plan or a payment has to change."""

    retryable: ClassVar[bool] = False


@tagged("The model's provider does not know the model {model}.")
class UnknownModel:
    """The model's name, as the application configured it."""

    model: str
    retryable: ClassVar[bool] = False


@tagged("The request is longer than the model's context.")
class ContextOverflow:
    """The conversation has to be compacted before the next try (RUN-027)."""

    retryable: ClassVar[bool] = False


@tagged("The model's provider refused the content.")
class ContentPolicy:
    """A content filter stopped the request or the answer."""

    retryable: ClassVar[bool] = False


@tagged("The model's provider refused the request as invalid.")
class InvalidRequest:
    """The request is wrong and will stay so."""

    retryable: ClassVar[bool] = False


@tagged("The model cannot do what was asked: {feature}.")
class Unsupported:
    """The adapter, or its model, has no `feature`."""

    feature: str
    retryable: ClassVar[bool] = False


@tagged("The model failed in a way that its adapter does not know: {kind}.")
class Unclassified:
    """An exception that the adapter could not map; `kind` is its class name."""

    kind: str
    retryable: ClassVar[bool] = False


Reason: TypeAlias = (
    RateLimited
    | ProviderDown
    | ConnectionLost
    | TimedOut
    | InvalidOutput
    | Authentication
    | PermissionDenied
    | QuotaExhausted
    | UnknownModel
    | ContextOverflow
    | ContentPolicy
    | InvalidRequest
    | Unsupported
    | Unclassified
)


@tagged("{reason}")
class ModelError:
    """A model request failed.

    Attributes:
        reason: What kind of failure; `match` on it is exhaustive.
        detail: The provider's own words, at most 4 096 characters; in neither the message nor the repr, because they
            may quote the request.

    Example:
        >>> error = ModelError(RateLimited(retry_after=2.5), "tokens per minute")
        >>> str(error), error.retryable, error.retry_after
        ("The model's provider limits the rate of requests.", True, 2.5)
        >>> error
        ModelError(reason=RateLimited(retry_after=2.5))
    """

    reason: Reason
    detail: str = attrs.field(default="", converter=bounded, repr=False)

    @classmethod
    def foreign(cls, error: BaseException, reason: Reason | None = None) -> ModelError:
        """Turn an exception into a value, totally and boundedly, without running any code of the exception's.

        Args:
            error: What an SDK or a transport raised.
            reason: What it means; `None` for an exception that the adapter does not know.

        Example:
            >>> error = ModelError.foreign(KeyError("choices"))
            >>> str(error), error.detail
            ('The model failed in a way that its adapter does not know: KeyError.', 'choices')
        """
        return cls(Unclassified(tag_of_foreign(error)) if reason is None else reason, words_of_foreign(error))

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.reason.retryable

    @property
    def retry_after(self) -> float | None:
        """How many seconds the provider asks to wait, where it did and what it said is a time at all."""
        asked = self.reason.retry_after if isinstance(self.reason, RateLimited | ProviderDown) else None
        return asked if asked is not None and 0 <= asked < math.inf else None
