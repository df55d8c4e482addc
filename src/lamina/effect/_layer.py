"""`Layer`: how services are made, as a value whose type says what it needs, offers, and may fail with (design §3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Never, TypeAlias, TypeVar

import attrs

from lamina.effect._clock import Clock
from lamina.effect._construction import ConstructionError, Problem
from lamina.effect._names import name_of
from lamina.effect._signature import Need
from lamina.effect._tree import Bag, Catch, Leaf, Provide, Replace, Retry, Tree, bag, leaves_of, map_leaves
from lamina.effect._where import caller_where

In_co = TypeVar("In_co", covariant=True)
Out = TypeVar("Out")
Out_co = TypeVar("Out_co", covariant=True)
Err_co = TypeVar("Err_co", covariant=True)
Err = TypeVar("Err")
R = TypeVar("R")
R2 = TypeVar("R2")
O = TypeVar("O")  # noqa: E741 - R, O, E stand for needs, offers and failures throughout
O2 = TypeVar("O2")
E = TypeVar("E")
E2 = TypeVar("E2")


class Subset(Generic[Out_co]):
    """A layer that offers no more than this; what `replace` takes. Every layer is one.

    It says nothing of needs: with them mypy would push the expected needs into `bind(...).to(...)`, and refuse good
    fakes. What a fake needs is checked by the plan.
    """

    __slots__ = ()


class Parts(Generic[In_co, Out, Err]):
    """Stands, in types only, for what a layer is made of; see `Buildable`.

    `Err` is invariant here, for pyright loses a `Never` that it may widen.
    """

    __slots__ = ()


Buildable: TypeAlias = Callable[[], Parts[R, O, E]]
"""A layer, as the type of a parameter; `Buildable[R, R, Never]` is one whose every need is offered.

`Layer[R, O, E]` would say the same. But mypy infers an expression from what is expected of it, and refuses
`build(layer(Log) | layer(Db))`, because `layer(Db)` does not need all that it then were allowed to need. Of a call it
expects nothing.
"""


@attrs.frozen(eq=False, repr=False)
class Layer(Subset[Out], Generic[In_co, Out, Err_co]):
    """A recipe for services: immutable, and nothing is made until a runtime is built from it.

    `In` is the union of the services it needs, `Out` of those it offers, `Err` of the declared failures with which it
    may end; `Never` stands for none. `Out` is invariant on purpose: it pins the type solver, so that "every need is
    offered" becomes one plain assignability check, `Layer[R, R, Never]`.

    Make one with `layer`, `scoped`, `attempt` or `bind`; put layers together with the operators below. The same layer
    in several places is one instance, as long as its needs resolve to the same ones.

    Example:
        >>> from lamina.effect import layer
        >>> class Log: ...
        >>> class Db:
        ...     def __init__(self, log: Log) -> None: ...
        >>> layer(Db) | layer(Log)
        Layer(offers Db, Log; needs nothing more)
    """

    tree: Tree

    def __call__(self) -> Parts[In_co, Out, Err_co]:
        """Say what the layer is made of; only type checkers call this, see `Buildable`."""
        return Parts()

    def __or__(self, other: Buildable[R2, O2, E2]) -> Layer[In_co | R2, Out | O2, Err_co | E2]:
        """Put layers into one bag, in any order; each sees what the others offer.

        The same leaf twice is fine. Two different offers of one service are a problem that `plan` reports.
        """
        return Layer(bag(self.tree, _tree_of(other)))

    def provide(self: Layer[R, O, E], dependency: Buildable[R2, R, E2]) -> Layer[R2, O, E | E2]:
        """Feed every need of this layer from `dependency`, and hide that one's offers.

        Example:
            >>> from lamina.effect import layer
            >>> class Log: ...
            >>> class Db:
            ...     def __init__(self, log: Log) -> None: ...
            >>> layer(Db).provide(layer(Log))
            Layer(offers Db; needs nothing more)
        """
        return Layer(Provide(self.tree, _tree_of(dependency), visible=False))

    def provide_merge(self: Layer[R, O, E], dependency: Buildable[R2, R, E2]) -> Layer[R2, O | R, E | E2]:
        """Feed every need of this layer from `dependency`, and offer both."""
        return Layer(Provide(self.tree, _tree_of(dependency), visible=True))

    def replace(self, *fakes: Subset[Out]) -> Layer[In_co, Out, Err_co]:
        """Put other implementations in the place of some; those replaced are never constructed.

        Use it in tests. A fake stands in wherever its service is offered in this layer, also where that is hidden by
        `provide`. It may need what this layer offers, and may bring its own private dependencies with `provide`.

        Example:
            >>> from lamina.effect import bind, layer
            >>> class Db: ...
            >>> class PgDb(Db): ...
            >>> class FakeDb(Db): ...
            >>> bind(Db).to(PgDb).replace(bind(Db).to(FakeDb))
            Layer(offers Db; needs nothing more)
        """
        return Layer(Replace(self.tree, tuple(map(_tree_of, fakes)), caller_where()))

    def fresh(self) -> Layer[In_co, Out, Err_co]:
        """Give a copy that shares no instance with the original; what is shared within it stays shared."""
        return Layer(map_leaves(self.tree, lambda leaf: attrs.evolve(leaf)))

    def retry(self, times: int, *, delay: float = 0.1, backoff: float = 2.0) -> Layer[In_co | Clock, Out, Err_co]:
        """Make each `attempt` in this layer again when it answers a declared failure.

        An exception is a defect, and is not tried again. Waiting goes by the `Clock`, which the layer needs from then
        on; a test gives a `VirtualClock`.

        Args:
            times: How many more attempts there are after the first, at least 1.
            delay: Seconds before the second attempt.
            backoff: What each further wait is multiplied with.

        Raises:
            ConstructionError: The layer holds no `attempt`, or a number is out of range.
        """
        reasons = [
            *(["times has to be at least 1"] if times < 1 else []),
            *(["delay and backoff cannot be negative"] if delay < 0 or backoff < 0 else []),
            *(
                []
                if any(leaf.kind in ("attempt", "tried scope") for leaf in leaves_of(self.tree))
                else ["there is no attempt to retry"]
            ),
        ]
        if reasons:
            where = caller_where()
            raise ConstructionError([Problem("RETRY", repr(self), tuple(f"{reason}  {where}" for reason in reasons))])
        policy = Retry(times, delay, backoff)

        def retried(leaf: Leaf) -> Leaf:
            if leaf.kind not in ("attempt", "tried scope"):
                return leaf
            needs = leaf.needs if leaf.retry is not None else (*leaf.needs, Need("retry", Clock))
            return attrs.evolve(leaf, needs=needs, retry=policy)

        return Layer(map_leaves(self.tree, retried))

    def catch(
        self: Layer[R, O, E], fallback: Buildable[R2, O, E2], *, on_failure: Callable[[E], object] | None = None
    ) -> Layer[R | R2, O, E2]:
        """Offer the same services from `fallback` where this layer ends with a declared failure.

        The fallback is a layer and no function of the error: the plan has to know all that may be built before
        anything is. It is acquired only when this layer has failed, and then as a whole: what did come up of this
        layer stays unused, and is released with the rest. An exception is a defect, and is not caught.

        Args:
            fallback: Offers the same services.
            on_failure: Told the error, once, when the fallback is taken; to log it, say.
        """
        return Layer(Catch(self.tree, _tree_of(fallback), on_failure, caller_where()))

    def __repr__(self) -> str:
        """Say what is offered and needed, without building a plan."""
        offers = tuple(dict.fromkeys(_offered(self.tree)))
        held = {leaf.key for leaf in leaves_of(self.tree)}
        needs = (need.key for leaf in leaves_of(self.tree) for need in leaf.needs if need.key not in held)
        wanted = ", ".join(dict.fromkeys(map(name_of, needs))) or "nothing more"
        return f"Layer(offers {', '.join(map(name_of, offers)) or 'nothing'}; needs {wanted})"


def empty_layer() -> Layer[Never, Never, Never]:
    """Give the layer that needs and offers nothing: what a program that is put together step by step begins with.

    Example:
        >>> empty_layer()
        Layer(offers nothing; needs nothing more)
    """
    return Layer(bag())


AnyLayer = Layer[Any, Any, Any]  # for what reads trees, where the types have been checked already


def _tree_of(layer: object) -> Tree:
    if not isinstance(layer, Layer):
        raise TypeError(f"{layer!r} is no layer; make one with layer(...), scoped(...), attempt(...) or bind(...)")
    return layer.tree


def _offered(tree: Tree) -> list[object]:
    match tree:
        case Leaf(key=key):
            return [key]
        case Bag(members):
            return [key for member in members for key in _offered(member)]
        case Provide(inner, dependency, visible):
            return [*_offered(inner), *(_offered(dependency) if visible else ())]
        case Replace(base):
            return _offered(base)
        case Catch(primary):
            return _offered(primary)
