"""What a contract is served over: the host's methods, and the services that every dispatch uses."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, TypeAlias, cast

from returns.result import Result

from lamina.approval import ApprovalDecision, ApprovalRequest, ApprovalUnavailable
from lamina.audit import Audit
from lamina.call import Caller, Invocation
from lamina.contract._completion import MessageCompletion, StateCompletion
from lamina.contract._variant import Variant
from lamina.contract.plain import PlainHost
from lamina.effect import Clock, ConstructionError, Ids, Problem, SystemClock, SystemIds, name_of
from lamina.redaction import Secrets
from lamina.telemetry import Telemetry

_CLOCK: Final = SystemClock()
_IDS: Final = SystemIds()
_NO_SECRETS: Final = Secrets()
Stop: TypeAlias = Callable[[], None]
Approve: TypeAlias = Callable[[ApprovalRequest, Caller], Awaitable[Result[ApprovalDecision, ApprovalUnavailable]]]
"""Asks somebody; the runtime gives it, since a contract by itself has nobody to ask."""


class Ground:
    """A host, taken apart once, and the services of its contract.

    Attributes:
        host: The host as it was given.
        model: Gives the model.
        dispatch: Sends a message.
        principal: Says on whose behalf a call is; None where the host does not.
        subscribe: Tells of changes of the model; None where the host does not.
        observe: Tells of messages; None where the host does not.
        audit: Where decisions are recorded.
        telemetry: Where attempts are told; None leaves it to whoever observes outside.
        clock: Measures deadlines.
        ids: Names invocations.
        approve: Asks for approval; None where nobody can be asked.
        asks_caller: Whether it asks whoever calls.
        secrets: What must not leave.
        name: The name that approvals are asked in.
    """

    __slots__ = (
        "approve",
        "asks_caller",
        "audit",
        "clock",
        "dispatch",
        "host",
        "ids",
        "model",
        "name",
        "observe",
        "principal",
        "secrets",
        "subscribe",
        "telemetry",
    )

    def __init__(
        self,
        host: Any,  # Any: the methods that it has beside `model` and `dispatch` are found here
        *,
        audit: Audit | None = None,
        telemetry: Telemetry | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        approve: Approve | None = None,
        asks_caller: bool = False,
        secrets: Secrets | None = None,
        name: str = "agent",
    ) -> None:
        self.host: object = host
        # What is missing is told by `check_whole`, with everything else that is.
        self.model = cast("Callable[[], Any]", getattr(host, "model", None))
        self.dispatch = cast("Callable[[Any], object]", getattr(host, "dispatch", None))
        self.principal = cast("Callable[[Invocation], object] | None", getattr(host, "principal", None))
        self.subscribe = cast("Callable[[Callable[[], None]], Stop] | None", getattr(host, "subscribe", None))
        self.observe = cast("Callable[[Callable[[object], None]], Stop] | None", getattr(host, "observe", None))
        self.audit = audit
        self.telemetry = telemetry
        self.clock = clock or _CLOCK
        self.ids = ids or _IDS
        self.approve = approve
        self.asks_caller = asks_caller
        self.secrets = secrets or _NO_SECRETS
        self.name = name


def yes(answer: object, of: str) -> bool:
    """Read the answer of a predicate: true or false, and nothing that only looks like one of them.

    Raises:
        TypeError: It is something else, a coroutine perhaps: what cannot be told is no yes.
    """
    if answer is True or answer is False:
        return answer
    if inspect.iscoroutine(answer):
        answer.close()
    raise TypeError(f"{of} answered with a {type(answer).__name__}, not with a bool")


def check_whole(
    name: str,
    variants: tuple[Variant, ...],
    principal: type[Any] | None,
    host: object,
    *,
    approves: bool,
    live: bool = False,
) -> None:
    """Check what only a contract as a whole shows, with the host that is to serve it.

    Args:
        name: The contract's name.
        variants: What it exposes.
        principal: The class of its principals.
        host: The host, or its class.
        approves: Whether somebody can be asked for approval.
        live: Whether the host itself is given.

    Raises:
        ConstructionError: With everything that is wrong.
    """
    problems = list(duplicates(variants))
    called = host.__name__ if isinstance(host, type) else type(host).__name__
    if live and isinstance(host, type):
        problems.append(Problem("HOST", called, ("This is the class of a host, and no host.",), f"{called}(…)"))
    lacks = list(_what_the_host_lacks(variants, principal, host))
    if lacks:
        write = ", ".join(dict.fromkeys(line for _, line in lacks))
        problems.append(Problem("HOST", called, tuple(why for why, _ in lacks), write))
    asking = [one for one in variants if one.ask is not None]
    if asking and not approves:
        where = tuple(f"{one.name} (needs_approval)  {one.where}" for one in asking)
        problems.append(Problem("MISSING", "Approval", (*where, f'in contract "{name}"'), "rt.bind(contract, host)"))
    if problems:
        raise ConstructionError(problems)


def duplicates(variants: tuple[Variant, ...]) -> Iterator[Problem]:
    """Report capabilities of one name."""
    seen: dict[str, Variant] = {}
    for one in variants:
        first = seen.setdefault(one.name, one)
        if first is not one:
            lines = (f"{first.tag}  {first.where}", f"{one.tag}  {one.where}")
            yield Problem(
                "DUPLICATE", f'Duplicate exposed capability name "{one.name}"', lines, 'name="…" for one of them'
            )


_METHODS: Final = {
    "model": "def model(self)",
    "dispatch": "def dispatch(self, message)",
    "subscribe": "def subscribe(self, listener)",
    "observe": "def observe(self, listener)",
    "principal": "def principal(self, invocation)",
}


def _taken_by(host: object) -> frozenset[type] | None:
    """Give the messages that a host has a function for, where it is of the kind that knows."""
    return cast("PlainHost[object, object]", host).takes if isinstance(host, PlainHost) else None


def _what_the_host_lacks(
    variants: tuple[Variant, ...], principal: type[Any] | None, host: object
) -> Iterator[tuple[str, str]]:
    """Say what is wrong with a host, each with the line to write."""
    for method in ("model", "dispatch"):
        if not callable(getattr(host, method, None)):
            yield f"This host has no {method}().", _METHODS[method]
    takes = _taken_by(host)
    if takes is not None:
        for one in variants:
            if one.message not in takes:
                yield f'This host has no function for "{one.tag}", which "{one.name}" sends.', f".on({one.tag}, …)"
    for method in ("model", "subscribe", "observe"):
        if inspect.iscoroutinefunction(getattr(host, method, None)):
            yield f"This host's {method}() is async; it answers at once.", _METHODS[method]
    observing = [one.name for one in variants if isinstance(one.completion, MessageCompletion)]
    if observing and not callable(getattr(host, "observe", None)):
        names = ", ".join(f'"{name}"' for name in observing)
        why = f"This host cannot observe Messages, which {names} needs to report completion. Supply host.observe."
        yield why, _METHODS["observe"]
    looking = [
        one.name
        for one in variants
        if isinstance(one.completion, StateCompletion) and one.completion.projection is not None
    ]
    if looking and not callable(getattr(host, "subscribe", None)):
        names = ", ".join(f'"{name}"' for name in looking)
        why = f"This host cannot subscribe to Model changes, which {names} needs to report completion. "
        yield f"{why}Supply host.subscribe.", _METHODS["subscribe"]
    if principal is not None and not callable(getattr(host, "principal", None)):
        why = f"This host cannot tell the principal, a {name_of(principal)}. Supply host.principal."
        yield why, _METHODS["principal"]
