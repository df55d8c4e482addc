"""Laws of layers: a bag is a bag, `provide` hides, one leaf is built once, and all is released once, come what may."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import anyio
import attrs
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st
from returns.result import Failure, Result, Success

from lamina.effect import Environment, Layer, Need, Where, layer, plan
from lamina.effect._graph import Made, below, reachable
from lamina.effect._tree import Bag, Kind, Leaf

AnyLayer = Layer[Any, Any, Any]
BACKENDS = st.sampled_from(["asyncio", "trio"])


class Key:
    """A service; each graph makes keys of its own, as subclasses."""


KEYS = [type(f"K{at}", (Key,), {}) for at in range(9)]


@attrs.define
class Log:
    """What happened, in order."""

    events: list[tuple[str, type]] = attrs.field(factory=list)

    def of(self, kind: str) -> list[type]:
        return [key for what, key in self.events if what == kind]


@attrs.frozen
class Node:
    """One service of a random graph: what it needs, how it comes up, and after how many steps."""

    needs: tuple[int, ...]
    kind: Kind
    steps: int


@st.composite
def graphs(draw: st.DrawFn, ends: bool = False) -> list[Node]:
    """Random acyclic graphs, without or with services that do not come up."""
    kinds: list[Kind] = ["call", "await", "scope", "scope", "attempt", "tried scope"]
    size = draw(st.integers(1, len(KEYS)))
    return [
        Node(
            tuple(sorted(draw(st.sets(st.integers(0, at - 1), max_size=3)))) if at else (),
            draw(st.sampled_from(kinds)),
            draw(st.integers(0, 3)),
        )
        for at in range(size)
    ]


def leaf(at: int, node: Node, log: Log, breaks: str | None = None) -> AnyLayer:
    key = KEYS[at]

    async def wait() -> None:
        for _ in range(node.steps):
            await checkpoint()
        if breaks == "raises":
            raise ValueError(key.__name__)

    def call(*needs: Any) -> Any:
        if breaks == "raises":
            raise ValueError(key.__name__)
        log.events.append(("made", key))
        return key()

    async def awaited(*needs: Any) -> Any:
        await wait()
        log.events.append(("made", key))
        return key()

    async def attempt(*needs: Any) -> Result[Any, str]:
        await wait()
        if breaks == "fails":
            return Failure(key.__name__)
        log.events.append(("made", key))
        return Success(key())

    async def scope(*needs: Any) -> AsyncGenerator[Any, None]:
        await wait()
        log.events += [("made", key), ("acquired", key)]
        try:
            yield key()
        finally:
            for _ in range(node.steps):
                await checkpoint()
            log.events.append(("released", key))

    async def tried_scope(*needs: Any) -> AsyncIterator[Result[Any, str]]:
        async with aclosing(scope(*needs)) as held:
            yield Failure(key.__name__) if breaks == "fails" else Success(await anext(held))

    make = {"call": call, "await": awaited, "attempt": attempt, "scope": scope, "tried scope": tried_scope}[node.kind]
    needs = tuple(Need(f"k{one}", KEYS[one]) for one in node.needs)
    return Layer(Leaf(key, needs, make, node.kind, "app", key.__name__, Where("laws.py", at)))


def bag(layers: list[AnyLayer]) -> AnyLayer:
    first, *rest = layers
    for one in rest:
        first = first | one
    return first


def graph_of(app: AnyLayer) -> set[tuple[str, tuple[str, ...]]]:
    """Give the resolved graph: each instance with what it is made of."""
    planned = plan(app)
    assert planned.problems == ()
    nodes = [node for node in reachable(planned.exports.values()) if isinstance(node, Made)]
    return {(node.leaf.label, tuple(one.leaf.label for one in below(node) if isinstance(one, Made))) for node in nodes}


async def open_and_close(app: AnyLayer) -> None:
    environment = Environment(plan(app))
    try:
        await environment.open()
    finally:
        await environment.close()


@given(graphs(), st.randoms(use_true_random=False))
def test_merge_commutes_and_associates(graph: list[Node], random: Any) -> None:
    layers = [leaf(at, node, Log()) for at, node in enumerate(graph)]
    expected = graph_of(bag(layers))
    random.shuffle(layers)
    while len(layers) > 1:  # put neighbours together in any grouping
        at = random.randrange(len(layers) - 1)
        layers[at : at + 2] = [layers[at] | layers[at + 1]]
    assert graph_of(layers[0]) == expected
    assert graph_of(layers[0] | layers[0]) == expected


@given(graphs())
def test_problems_do_not_depend_on_order(graph: list[Node]) -> None:
    layers = [leaf(at, node, Log()) for at, node in enumerate(graph)][1:] or [leaf(0, graph[0], Log())]
    forwards, backwards = plan(bag(layers)).problems, plan(bag(layers[::-1])).problems
    assert {(one.kind, one.subject, frozenset(one.lines)) for one in forwards} == {
        (one.kind, one.subject, frozenset(one.lines)) for one in backwards
    }


@given(graphs())
def test_provide_hides_and_provide_merge_does_not(graph: list[Node]) -> None:
    layers = [leaf(at, node, Log()) for at, node in enumerate(graph)]
    top, rest = layers[-1], layers[:-1] or [layer(Key)]
    hidden = plan(top.provide(bag(rest)))
    shown = plan(top.provide_merge(bag(rest)))
    assert hidden.problems == shown.problems == ()
    assert set(hidden.exports) == {KEYS[len(graph) - 1]}
    assert set(shown.exports) == {KEYS[len(graph) - 1], *plan(bag(rest)).exports}


@settings(deadline=None)
@given(graphs(), BACKENDS)
def test_one_leaf_is_built_once_and_fresh_builds_anew(graph: list[Node], backend: str) -> None:
    log = Log()
    layers = [leaf(at, node, log) for at, node in enumerate(graph)]
    app = bag(layers)
    users = [Layer[Any, Any, Any](one.tree).provide(app) for one in layers]
    anyio.run(open_and_close, bag([app, *users]), backend=backend)
    assert Counter(log.of("made")) == Counter(KEYS[: len(graph)])
    log.events.clear()
    again = layer(Key).provide(app.fresh()) | app.fresh() | layer_of_needs(len(graph)).provide(app.fresh())
    anyio.run(open_and_close, again, backend=backend)
    assert Counter(log.of("made")) == Counter(KEYS[: len(graph)] * 2)


def layer_of_needs(size: int) -> AnyLayer:
    """A service that needs all of a graph."""
    needs = tuple(Need(f"k{at}", KEYS[at]) for at in range(size))
    return Layer(Leaf(int, needs, lambda *_: 0, "call", "app", "all", Where("laws.py", 0)))


@settings(deadline=None)
@given(graphs(), st.data(), BACKENDS)
def test_what_is_replaced_is_never_constructed(graph: list[Node], data: st.DataObject, backend: str) -> None:
    log, fakes = Log(), Log()
    replaced = sorted(data.draw(st.sets(st.integers(0, len(graph) - 1), min_size=1)))
    app = bag([leaf(at, node, log) for at, node in enumerate(graph)])
    nested = app | layer_of_needs(len(graph)).provide(app)
    faked = nested.replace(*(leaf(at, Node((), "call", 0), fakes) for at in replaced))
    anyio.run(open_and_close, faked, backend=backend)
    assert Counter(fakes.of("made")) == Counter(KEYS[at] for at in replaced)
    assert Counter(log.of("made")) == Counter(KEYS[at] for at in range(len(graph)) if at not in replaced)


@settings(deadline=None)
@given(graphs(), BACKENDS)
def test_release_is_a_reverse_topological_order(graph: list[Node], backend: str) -> None:
    log = Log()
    anyio.run(open_and_close, bag([leaf(at, node, log) for at, node in enumerate(graph)]), backend=backend)
    acquired, released = log.of("acquired"), log.of("released")
    assert Counter(acquired) == Counter(released)
    above = {at: {at} for at in range(len(graph))}  # what stands on a service, directly or not
    for at in reversed(range(len(graph))):
        for user in range(at + 1, len(graph)):
            if at in graph[user].needs:
                above[at] |= above[user]
    made = log.of("made")
    for at, users in above.items():
        for user in users - {at}:
            assert made.index(KEYS[at]) < made.index(KEYS[user])
            if KEYS[at] in released and KEYS[user] in released:
                assert released.index(KEYS[user]) < released.index(KEYS[at])


@settings(deadline=None, max_examples=150)
@given(graphs(), st.data(), BACKENDS)
def test_whatever_goes_wrong_all_that_was_acquired_is_released_once(
    graph: list[Node], data: st.DataObject, backend: str
) -> None:
    breaks: dict[int, str] = {}
    for at, node in enumerate(graph):
        choices = [None, None, None, "raises", *(["fails"] if node.kind in ("attempt", "tried scope") else [])]
        if (way := data.draw(st.sampled_from(choices))) is not None:
            breaks[at] = way
    cancel_after = data.draw(st.none() | st.integers(0, 12))
    log = Log()
    app = bag([leaf(at, node, log, breaks.get(at)) for at, node in enumerate(graph)])

    async def main() -> object:
        async with anyio.create_task_group() as group:
            if cancel_after is not None:
                group.start_soon(cancel, group.cancel_scope, cancel_after)
            environment = Environment(plan(app))
            try:
                opened = await environment.open()
            except (ValueError, ExceptionGroup) as error:
                group.cancel_scope.cancel()
                return error
            finally:
                await environment.close()
            group.cancel_scope.cancel()
            return opened
        return None

    outcome = anyio.run(main, backend=backend)
    assert Counter(log.of("acquired")) == Counter(log.of("released"))
    assert max(Counter(log.of("made")).values(), default=1) == 1
    if isinstance(outcome, Success):
        assert breaks == {}
        assert len(log.of("made")) == len(graph)
    elif isinstance(outcome, Failure):
        assert breaks[int(outcome.failure()[1:])] == "fails"
    elif outcome is not None:
        assert "raises" in breaks.values()
    else:
        assert cancel_after is not None


async def cancel(scope: anyio.CancelScope, steps: int) -> None:
    for _ in range(steps):
        await checkpoint()
    scope.cancel()


@pytest.mark.parametrize("size", [1, 7])
def test_a_bag_of_one_member_is_that_member(size: int) -> None:
    """The operator flattens, so that how a bag was grouped cannot show."""
    members = [layer(KEYS[at]) for at in range(size)]
    tree = bag([*members]).tree
    assert isinstance(tree, Bag) or size == 1
    assert graph_of(bag([*members])) == {(f"K{at}", ()) for at in range(size)}
