"""Calls that wait for their caller, in the stateless era: the body stays where it is, and its request comes again.

A handler that asks its caller is a task of this process. While it waits, the client gets `InputRequiredResult` with
what is asked and a sealed reference; its next request with the answers goes on with that very task. So a body never
runs twice: a reference that is unknown, used up, expired or somebody else's is refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping

import mcp_types as wire
from mcp.shared.exceptions import MCPError
from returns.result import Failure, Result, Success

from lamina.adapters.mcp._callers import (
    Context,
    TellingCaller,
    elicitation,
    elicited,
    roots_of,
    sampled,
    sampling,
    unable,
)
from lamina.adapters.mcp._shapes import plain
from lamina.call import CallerFeature, CallerUnable, Elicited, Root, Sampled, SampleRequest, Signal
from lamina.effect import log
from lamina.schema import JsonValue, canonical_json

_UNKNOWN = "The request state is not known here, was used, or has expired; nothing was run again"
_MISFIT = "An input response is not an answer to what was asked"


class HeldCaller(TellingCaller):
    """Is asked by way of the call's own answer; each round of the call has its own request to be told through.

    Args:
        ctx: The call's first request.
        features: What the capability asks for, and the transport offers.
        patience: Seconds that an answer is waited for.
        room: Tells whether one more call may wait.
        given: Answers that came with the first request; only questions that have a name of their own can have one.
    """

    def __init__(
        self,
        ctx: Context,
        features: frozenset[CallerFeature],
        patience: float,
        room: Callable[[], bool],
        given: Mapping[str, wire.InputResponse],
    ) -> None:
        super().__init__(ctx, features)
        self._given = dict(given)
        self._patience = patience
        self._room = room
        self._asked = 0
        self.news = asyncio.Event()
        self.waiting: dict[str, tuple[wire.InputRequest, asyncio.Future[wire.InputResponse]]] = {}
        self.told = True
        """Whether a request is open that the caller can be told through."""

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell it, while one of its requests is open."""
        if self.told:
            await super().progress(done, total, message)

    async def log(self, level: wire.LoggingLevel, data: JsonValue, logger: str = "") -> None:
        """Tell it, while one of its requests is open."""
        if self.told:
            await super().log(level, data, logger)

    async def elicit(
        self, message: str, schema: Mapping[str, JsonValue], *, key: str | None = None
    ) -> Result[Elicited, CallerUnable]:
        """Ask the person at the client."""
        if "elicit" not in self.features:
            return Failure(unable(self.ctx, "elicit"))
        answer = await self._ask("elicit", elicitation(message, schema), key)
        if isinstance(answer, CallerUnable):
            return Failure(answer)
        if not isinstance(answer, wire.ElicitResult):
            return Failure(CallerUnable("elicit", "its answer is not what the protocol says"))
        return Success(elicited(answer))

    async def sample(self, request: SampleRequest, *, key: str | None = None) -> Result[Sampled, CallerUnable]:
        """Ask the client's model."""
        if "sample" not in self.features:
            return Failure(unable(self.ctx, "sample"))
        asked = sampling(request)
        if isinstance(asked, CallerUnable):
            return Failure(asked)
        answer = await self._ask("sample", asked, key)
        if isinstance(answer, CallerUnable):
            return Failure(answer)
        if not isinstance(answer, wire.CreateMessageResult):
            return Failure(CallerUnable("sample", "its answer is not what the protocol says"))
        return sampled(answer)

    async def roots(self, *, key: str | None = None) -> Result[tuple[Root, ...], CallerUnable]:
        """Ask which folders the client works in."""
        if "roots" not in self.features:
            return Failure(unable(self.ctx, "roots"))
        answer = await self._ask("roots", wire.ListRootsRequest(), key)
        if isinstance(answer, CallerUnable):
            return Failure(answer)
        if not isinstance(answer, wire.ListRootsResult):
            return Failure(CallerUnable("roots", "its answer is not what the protocol says"))
        return Success(roots_of(answer))

    async def _ask(
        self, feature: CallerFeature, request: wire.InputRequest, name: str | None
    ) -> wire.InputResponse | CallerUnable:
        given = None if name is None else self._given.pop(name, None)
        if given is not None and isinstance(given, _ANSWERS[request.method]):
            return given
        if not self._room():
            return CallerUnable(feature, "too many calls wait for an answer")
        self._asked += 1
        key = name if name is not None and name not in self.waiting else f"{feature}-{self._asked}"
        answer: asyncio.Future[wire.InputResponse] = asyncio.get_running_loop().create_future()
        self.waiting[key] = request, answer
        self.news.set()
        try:
            async with asyncio.timeout(self._patience):
                return await answer
        except TimeoutError:
            return CallerUnable(feature, "it did not answer in time")
        finally:
            if self.waiting.get(key, (None, None))[1] is answer:  # and not of the next question of that name
                del self.waiting[key]


class _Held:
    """One call whose body is a task."""

    def __init__(self, caller: HeldCaller, signal: Signal, binding: bytes) -> None:
        self.id = secrets.token_urlsafe(16)
        self.round = 0
        self.caller = caller
        self.signal = signal
        self.binding = binding
        self.task: asyncio.Task[object] | None = None
        self.lapse: asyncio.TimerHandle | None = None

    def end(self) -> None:
        """Abort the body, if it still runs."""
        if self.lapse is not None:
            self.lapse.cancel()
        self.signal.abort()
        if self.task is not None:
            self.task.cancel()


class HeldCalls:
    """All calls of a server whose bodies are tasks, from their first request to their last.

    Args:
        most: How many may wait at once.
        patience: Seconds that one waits.
    """

    def __init__(self, most: int, patience: float) -> None:
        self._most = most
        self._patience = patience
        self._calls: dict[str, _Held] = {}
        self._secret = secrets.token_bytes(32)

    def __len__(self) -> int:
        return len(self._calls)

    def _room(self) -> bool:
        return sum(held.round > 0 for held in self._calls.values()) < self._most

    async def begin(
        self,
        ctx: Context,
        features: frozenset[CallerFeature],
        binding: bytes,
        signal: Signal,
        given: Mapping[str, wire.InputResponse],
        invoke: Callable[[HeldCaller], Awaitable[object]],
    ) -> object:
        """Begin a call, and go on with it until it has ended or asks something: then that is `InputRequiredResult`."""
        held = _Held(HeldCaller(ctx, features, self._patience, self._room, given), signal, binding)
        self._calls[held.id] = held

        async def body() -> object:
            return await invoke(held.caller)

        held.task = asyncio.create_task(body(), name="lamina mcp call")
        held.task.add_done_callback(lambda _: held.caller.news.set())
        return await self._go_on(held)

    async def resume(
        self, ctx: Context, binding: bytes, state: str, responses: Mapping[str, wire.InputResponse]
    ) -> object:
        """Go on with a call that waits; see `begin`.

        Raises:
            MCPError: There is none of that reference, for this caller and these arguments.
        """
        held = self._find(binding, state)
        for key, answer in responses.items():
            asked = held.caller.waiting.get(key)
            if asked is not None and not isinstance(answer, _ANSWERS[asked[0].method]):
                raise MCPError(wire.INVALID_PARAMS, _MISFIT)
        if held.lapse is not None:
            held.lapse.cancel()
        held.caller.ctx, held.caller.told = ctx, True
        for key, answer in responses.items():
            asked = held.caller.waiting.pop(key, None)
            if asked is not None and not asked[1].done():
                asked[1].set_result(answer)
        return await self._go_on(held)

    async def close(self) -> None:
        """Abort every call, and wait until all have ended."""
        calls, self._calls = list(self._calls.values()), {}
        for held in calls:
            held.end()
        tasks = [held.task for held in calls if held.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=5)

    async def _go_on(self, held: _Held) -> object:
        caller, task = held.caller, held.task
        assert task is not None
        try:
            while not task.done():
                await _quiet()
                if caller.waiting:
                    return self._suspend(held)
                caller.news.clear()
                if not task.done():
                    await caller.news.wait()
        except asyncio.CancelledError:
            self._calls.pop(held.id, None)
            held.end()
            await asyncio.wait({task}, timeout=5)
            raise
        self._calls.pop(held.id, None)
        return task.result()

    def _suspend(self, held: _Held) -> wire.InputRequiredResult:
        held.round += 1
        held.caller.told = False
        held.lapse = asyncio.get_running_loop().call_later(self._patience, self._lapse, held)
        return wire.InputRequiredResult(
            input_requests={key: request for key, (request, _) in held.caller.waiting.items()},
            request_state=self._seal(held),
        )

    def _lapse(self, held: _Held) -> None:
        if self._calls.pop(held.id, None) is not None:
            log().warning("a call's caller did not come back with an answer; it is aborted")
            held.end()

    def _seal(self, held: _Held) -> str:
        named = f"{held.id}.{held.round}"
        return f"{named}.{self._mac(named, held.binding)}"

    def _mac(self, named: str, binding: bytes) -> str:
        return hmac.new(self._secret, named.encode(errors="replace") + b"\0" + binding, hashlib.sha256).hexdigest()

    def _find(self, binding: bytes, state: str) -> _Held:
        named, _, mac = state[:1_024].rpartition(".")
        held_id, _, told = named.rpartition(".")
        held = self._calls.get(held_id)
        if (
            held is None
            or not hmac.compare_digest(mac.encode(errors="replace"), self._mac(named, binding).encode())
            or told != str(held.round)
            or held.caller.told  # its request is being served right now
        ):
            raise MCPError(wire.INVALID_PARAMS, _UNKNOWN)
        return held


_ANSWERS: dict[str, tuple[type, ...]] = {
    "elicitation/create": (wire.ElicitResult,),
    "sampling/createMessage": (wire.CreateMessageResult, wire.CreateMessageResultWithTools),
    "roots/list": (wire.ListRootsResult,),
}


def binding_of(caller: bytes, name: str, arguments: object) -> bytes:
    """Give what a reference is bound to: who called what, with which arguments.

    Raises:
        MCPError: The arguments are no JSON: not a number, half a surrogate pair, nested without measure.
    """
    try:
        written = canonical_json([caller.hex(), name, plain(arguments)])
    except (ValueError, RecursionError):
        raise MCPError(wire.INVALID_PARAMS, "The arguments are no JSON that every peer can read") from None
    return hashlib.sha256(written).digest()


async def _quiet() -> None:
    """Let a handler that asks several things at once ask them all, so that they go out together."""
    for _ in range(3):
        await asyncio.sleep(0)
