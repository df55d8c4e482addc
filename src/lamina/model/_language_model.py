"""The port that every model stands behind, and what an implementation owes its caller (MODEL-001, MODEL-006)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeAlias

from returns.result import Result

from lamina.model._errors import ModelError
from lamina.model._parts import ResponsePart
from lamina.model._request import ModelRequest
from lamina.model._stream import StreamPart
from lamina.redaction import Secrets

Emit: TypeAlias = Callable[[StreamPart], None]
"""Where a stream's parts go; it does not wait."""


class LanguageModel(ABC):
    """A model that answers requests, whole or in parts.

    Both methods answer with the same response: fed to a `Reducer`, what `generate` returns and what `stream` emits
    give an equal `ModelResponse`. An implementation is used by many runs at once and keeps no state of a request
    beyond the call. `lamina.testing.check_language_model` holds an implementation to all of this.

    What an implementation owes:

    - **Errors are values.** What a provider, a network or a time limit does is a `Failure(ModelError)`. Only defects
      raise.
    - **No retries inside.** One call is one request; the engine retries by the agent's policy.
    - **Nothing is repaired.** Arguments are the raw text; broken JSON, unknown tools and odd finish reasons go on as
      they are. `Usage` is what the provider counted, or `None`.
    - **The form is whole.** Every start has its end, also where the response was cut off: the finish reason says that.
      A call has an id, made by the adapter where the provider gives none; deltas are cut between code points. A
      provider that calls tools under another finish reason than `tool-calls` is translated.
    - **Cancelling is a close.** Whatever the call holds (a response, a connection, a slot) is released before the
      cancellation leaves the call; the next call works.
    - **`emit` may raise**, also a `BaseException`. The adapter lets it pass unchanged, and releases what it holds.

    Attributes:
        provider: Who answers, for telemetry and prices: `openai`.
        model: The model's name there.
    """

    provider: str = "unknown"
    model: str = "unknown"

    def register_secrets(self, secrets: Secrets) -> None:  # noqa: B027 - most models know none
        """Register what the model knows and nobody else is to see: its key. Called once an agent and runtime.

        Args:
            secrets: The runtime's; it is called only where there are any.
        """

    @abstractmethod
    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        """Answer with whole parts, `Finish` last.

        Args:
            request: Everything that the model will know.

        Returns:
            The parts, or why there are none.
        """

    @abstractmethod
    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        """Answer in parts as they come: each is emitted at once, in order, `Finish` last.

        Args:
            request: Everything that the model will know.
            emit: Called with each part. What it raises ends the call.

        Returns:
            `Success(None)` once `Finish` was emitted, else the error. After an error the parts that were emitted are
            of no use; a response that was cut off has no `Finish`.
        """
