"""A contract bound to a live host: dispatch for the application, and one surface for every protocol (design §7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

import attrs
import orjson
from returns.result import Failure, Result, Success

from lamina.call import (
    AgentResourceError,
    Caller,
    CallerFeature,
    Invocation,
    Outcome,
    ReadDefect,
    ResourceContent,
    ResourceInfo,
    Surface,
    ToolDefect,
    ToolFailure,
    ToolInvalidInput,
    ToolRejected,
    ToolSuccess,
    bound,
)
from lamina.contract._contract import AnyContract
from lamina.contract._dispatch import dispatch, payload_of
from lamina.contract._errors import (
    AgentApprovalError,
    AgentAuthorizationError,
    AgentCancelledError,
    AgentCapabilityUnavailableError,
    AgentCompletionFailed,
    AgentCompletionTimeoutError,
    AgentDefect,
    AgentInvalidInputError,
    AgentProjectionError,
    AgentUnknownCapabilityError,
    DispatchError,
    wire,
)
from lamina.contract._ground import Ground, check_whole, yes
from lamina.contract._projection import Reading
from lamina.contract._values import Dispatched
from lamina.contract._variant import Variant
from lamina.effect import ConstructionError, Problem, caller_where, log
from lamina.redaction import Secrets
from lamina.schema import JsonValue, canonical_json

V_co = TypeVar("V_co", covariant=True)
X_contra = TypeVar("X_contra", contravariant=True)

CONTEXT = "context"
_ELICIT: frozenset[CallerFeature] = frozenset({"elicit"})
_CONTEXT_DESCRIPTION = "The Model state projected for agents"
_LONGEST_NAME = 128


class BoundContract(Surface, Generic[V_co, X_contra]):
    """A contract over a live application; made by `contract.bind(host)` and `rt.bind(contract, host)`.

    When to use: `dispatch` in the application itself; to serve agents, give it to an adapter.

    Attributes:
        contract: The contract.
        host: The host.
    """

    def __init__(self, contract: AnyContract, ground: Ground) -> None:
        check_whole(
            contract.name,
            contract.variants,
            contract.principal,
            ground.host,
            approves=ground.approve is not None,
            live=True,
        )
        self.contract = contract
        self.host = ground.host
        self.name = contract.name
        self.version = contract.version
        self.capabilities = tuple(
            attrs.evolve(one.capability, asks=_ELICIT) if one.ask is not None and ground.asks_caller else one.capability
            for one in contract.variants
        )
        self._ground = ground
        self._by_name = {one.name: one for one in contract.variants}
        self._by_input: dict[type[Any], list[Variant]] = {}
        for one in contract.variants:
            self._by_input.setdefault(one.input_type, []).append(one)
        self._readings = _readings(contract)
        self.resources = tuple(
            ResourceInfo(
                name=name,
                uri=f"app://{name}",
                description=description,
                schema=reading.codec.json_schema,
            )
            for name, (description, reading) in self._readings.items()
        )

    async def dispatch(
        self, given: X_contra, invocation: Invocation | None = None, *, capability: str | None = None
    ) -> Result[Dispatched[V_co], DispatchError]:
        """Send a message, or refuse to.

        The five steps, in this order: resolve, available, decode, authorize, construct and send; all over one snapshot
        of the model. A capability that says what ends it is waited for.

        Args:
            given: An instance of the message's class, or of the capability's `input`.
            invocation: The call; a new one, `in-app`, without it.
            capability: Which capability, where several take the same input.

        Returns:
            The message as it was sent, or an error that says why not, or how far it got.

        Raises:
            AgentDefect: A mistake of the application's showed: a predicate, a builder or the host raised.
            ConstructionError: Several capabilities take such an input, and none was named.
        """
        found = [one for one in self._by_input.get(type(given), ()) if capability is None or one.name == capability]
        if len(found) > 1:
            lines = (*(f"{one.name}  {one.where}" for one in found), str(caller_where()))
            write = f'dispatch(…, capability="{found[0].name}")'
            raise ConstructionError([Problem("AMBIGUOUS", type(given).__name__, lines, write)])
        variant = found[0] if found else None
        name = variant.name if variant is not None else _called(given)
        call = invocation or Invocation.new(ids=self._ground.ids)
        return await dispatch(self._ground, name, variant, given, call, decoded=True)

    async def dispatch_unknown(
        self, name: str, payload: JsonValue, invocation: Invocation | None = None
    ) -> Result[Dispatched[V_co], DispatchError]:
        """Send what came from outside: neither the name nor the payload is known to be right.

        Args:
            name: The capability's name.
            payload: Its input as JSON.
            invocation: The call; a new one, `in-app`, without it.

        Returns:
            As `dispatch`.

        Raises:
            AgentDefect: A mistake of the application's showed.
        """
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - it comes from outside
            name = f"a {type(name).__name__}"
        variant = self._by_name.get(name)
        call = invocation or Invocation.new(ids=self._ground.ids)
        return await dispatch(self._ground, name[:_LONGEST_NAME], variant, payload, call, decoded=False)

    async def available(self) -> frozenset[str]:
        """Give the names of what is offered in the model of this moment; principals do not matter to it."""
        model = self._ground.model()
        return frozenset(one.name for one in self.contract.variants if _offered(one, model))

    async def invoke(self, name: str, payload: JsonValue, invocation: Invocation, caller: Caller) -> Outcome:
        """Dispatch for a caller from outside; a defect is an outcome, and its text is in the log alone."""
        try:
            variant = self._by_name.get(name)
            answered = await dispatch(
                self._ground, name[:_LONGEST_NAME], variant, payload, invocation, decoded=False, caller=caller
            )
            secrets = self._ground.secrets
            if isinstance(answered, Failure):
                return outcome_of(_without_secrets(answered.failure(), secrets))
            made = self._success(answered.unwrap())
            return bound(secrets.redact_in(made) if secrets.active else made)
        except Exception:
            log().exception("a dispatch broke", capability=name[:_LONGEST_NAME], invocation=invocation.id)
            return ToolDefect("raised")

    def summary(self, name: str, outcome: ToolSuccess) -> str | None:
        """Say in one sentence what a dispatch came to."""
        value = outcome.value
        if not isinstance(value, dict) or "tag" not in value:
            return None
        ended = value.get("completion")
        if not isinstance(ended, dict):
            return f"Dispatched {value['tag']}"
        message = ended.get("message")
        if not isinstance(message, dict):
            return f"Completed: {value['tag']} reached its declared state"
        return f"Completed: {message['_tag']}"

    def context(self) -> Result[JsonValue, AgentResourceError]:
        """Read the context, encoded.

        Raises:
            AgentDefect: The projection broke, or gave something that does not fit its schema.
        """
        reading = self.contract.context
        return Failure(AgentResourceError(CONTEXT)) if reading is None else Success(self._read(None, reading))

    def resource(self, name: str) -> Result[JsonValue, AgentResourceError]:
        """Read a resource, encoded, of the model of this moment.

        Raises:
            AgentDefect: The projection broke, or gave something that does not fit its schema.
        """
        found = self._readings.get(name)
        if found is None:
            return Failure(AgentResourceError(name[:_LONGEST_NAME]))
        return Success(self._read(None if found[1] is self.contract.context else name, found[1]))

    async def read(self, uri: str) -> Result[ResourceContent, AgentResourceError | ReadDefect]:
        """Read a resource by its uri, as JSON text."""
        name = uri.removeprefix("app://")
        if name == uri or name not in self._readings:
            return Failure(AgentResourceError(name[:_LONGEST_NAME]))
        try:
            value = self.resource(name).unwrap()
            try:
                text = orjson.dumps(value).decode()
            except TypeError:  # an integer beyond 64 bits, which is JSON all the same
                text = canonical_json(value).decode()
        except Exception:
            log().exception("reading a resource broke", resource=name)
            return Failure(ReadDefect(name))
        return Success(ResourceContent(uri=uri, media_type="application/json", text=text))

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Be told when the model has changed; without effect over a host that cannot tell."""
        subscribe = self._ground.subscribe
        return super().subscribe(listener) if subscribe is None else subscribe(listener)

    def _success(self, dispatched: Dispatched[Any]) -> ToolSuccess | ToolFailure:
        variant = self._by_name[dispatched.capability]
        value = payload_of(dispatched, variant)
        if dispatched.completion is not None and dispatched.completion.status == "failed":
            by = type(dispatched.completion.message).__name__
            return ToolFailure(AgentCompletionFailed(variant.name, variant.tag, by, value["completion"]), value)
        return ToolSuccess(value)

    def _read(self, name: str | None, reading: Reading) -> JsonValue:
        try:
            encoded = reading.codec.encode(reading.read(self._ground.model()))
            if isinstance(encoded, Failure):
                raise AgentProjectionError(name, encoded.failure().problems)
        except Exception as error:
            raise AgentDefect(name or CONTEXT) from error
        value, secrets = encoded.unwrap(), self._ground.secrets
        return secrets.redact(value) if secrets.active else value


def _without_secrets(error: DispatchError, secrets: Secrets) -> DispatchError:
    """Keep secrets out of what an `authorize` said; the other errors hold names only."""
    if secrets.active and isinstance(error, AgentAuthorizationError):
        return AgentAuthorizationError(error.capability, error.tag, secrets.redact_text(error.reason))
    return error


def outcome_of(error: DispatchError) -> Outcome:
    """Give the outcome that stands for an error; the error is in it, as it is."""
    match error:
        case AgentUnknownCapabilityError():
            return ToolRejected("no-such-tool", error=error)
        case AgentCapabilityUnavailableError():
            return ToolRejected("unavailable", error=error)
        case AgentInvalidInputError():
            return ToolInvalidInput((), error=error)
        case AgentAuthorizationError():
            return ToolRejected("unauthorized", error.reason, error=error)
        case AgentApprovalError():
            return ToolRejected(error.verdict, error.reason, error=error)
        case AgentCancelledError() | AgentCompletionTimeoutError():
            return ToolFailure(error, cast("JsonValue", wire(error)))


def _readings(contract: AnyContract) -> dict[str, tuple[str, Reading]]:
    """Give what can be read, the context first; a resource of its name takes its place."""
    declared = {one.name: (one.description, one.reading) for one in contract.declared}
    if contract.context is None or CONTEXT in declared:
        return {CONTEXT: declared.pop(CONTEXT), **declared} if CONTEXT in declared else declared
    return {CONTEXT: (_CONTEXT_DESCRIPTION, contract.context), **declared}


def _offered(variant: Variant, model: object) -> bool:
    if variant.available is None:
        return True
    try:
        return yes(variant.available(model), "available")
    except Exception:
        log().exception("available broke; the capability is not listed", capability=variant.name)
        return False


def _called(given: object) -> str:
    kind = type(given)
    return kind.__name__ if attrs.has(kind) else "an unexposed Message"
