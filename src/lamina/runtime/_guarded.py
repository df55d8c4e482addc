"""A caller that is told no secret: what a handler says to it leaves the process as much as what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from returns.result import Result

from lamina.call import Caller, CallerUnable, Elicited, LogLevel, Root, Sampled, SampleRequest
from lamina.redaction import Secrets
from lamina.schema import JsonValue


class GuardedCaller(Caller):
    """Passes everything on, without secrets; what comes back is the peer's own.

    Args:
        peer: Who called.
        secrets: What must not leave.
    """

    def __init__(self, peer: Caller, secrets: Secrets) -> None:
        self._peer = peer
        self._secrets = secrets
        self.features = peer.features

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Pass it on."""
        await self._peer.progress(done, total, self._secrets.redact_text(message))

    async def log(self, level: LogLevel, data: JsonValue, logger: str = "") -> None:
        """Pass it on."""
        await self._peer.log(level, self._secrets.redact(data), self._secrets.redact_text(logger))

    async def elicit(
        self, message: str, schema: Mapping[str, JsonValue], *, key: str | None = None
    ) -> Result[Elicited, CallerUnable]:
        """Pass it on."""
        hidden = cast("Mapping[str, JsonValue]", self._secrets.redact(dict(schema)))
        return await self._peer.elicit(self._secrets.redact_text(message), hidden, key=key)

    async def sample(self, request: SampleRequest, *, key: str | None = None) -> Result[Sampled, CallerUnable]:
        """Pass it on."""
        return await self._peer.sample(self._secrets.redact_in(request), key=key)

    async def roots(self, *, key: str | None = None) -> Result[tuple[Root, ...], CallerUnable]:
        """Pass it on."""
        return await self._peer.roots(key=key)
