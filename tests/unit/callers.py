"""A caller that remembers what it was told, and answers what the test says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from returns.result import Failure, Result, Success

from lamina.call import Caller, CallerFeature, CallerUnable, Elicited, LogLevel, Sampled, SampleRequest
from lamina.schema import JsonValue

Asked: TypeAlias = tuple[Literal["accept", "decline", "cancel"], dict[str, JsonValue]]
ALL: frozenset[CallerFeature] = frozenset(("progress", "log", "elicit", "sample", "roots"))


class RecordingCaller(Caller):
    def __init__(self, features: frozenset[CallerFeature] = ALL, answers: Sequence[Asked] = ()) -> None:
        self.features = features
        self.told: list[Any] = []
        self.asked: list[str] = []
        self._answers = list(answers)

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        self.told.append(("progress", done, total, message))

    async def log(self, level: LogLevel, data: JsonValue, logger: str = "") -> None:
        self.told.append(("log", level, data))

    async def elicit(
        self, message: str, schema: Mapping[str, JsonValue], *, key: str | None = None
    ) -> Result[Elicited, CallerUnable]:
        self.asked.append(message)
        if not self._answers:
            return Failure(CallerUnable("elicit", "there is nobody"))
        action, content = self._answers.pop(0)
        return Success(Elicited(action, content))

    async def sample(self, request: SampleRequest, *, key: str | None = None) -> Result[Sampled, CallerUnable]:
        return Failure(CallerUnable("sample", "there is no model"))
