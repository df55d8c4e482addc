"""The plan of an application, with what only an agent's runs ask for: one report before anything starts (CAP-002)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

import attrs

from lamina.agent import Binding
from lamina.effect import Layer, Plan, Problem, Program, Seeds, plan
from lamina.engine import short_lived

AnyBinding = Binding[Any, Any, Any]  # Any: what an agent needs is checked by its declaration here


def assemble(
    layer: Layer[Any, Any, Any], programs: Iterable[Program[Any]] = (), seeds: Seeds[Any] | None = None
) -> Plan:
    """Plan an application, and add what is wrong with its agents as programs of a runtime."""
    found = plan(layer, programs, seeds)
    more = (*_twice(found), *_short_lived(found))
    return attrs.evolve(found, problems=tuple(dict.fromkeys((*found.problems, *more)))) if more else found


def duplicate_agent(first: AnyBinding, second: AnyBinding) -> Problem:
    """Say that two agents have one id."""
    lines = tuple(f'agent "{each.agent.id}"  {each.agent.where}' for each in (first, second))
    return Problem("DUPLICATE", f'agent "{first.agent.id}"', lines, "another id for one")


def _bindings(found: Plan) -> Iterator[AnyBinding]:
    return (program for program, _ in found.sights if _is_agent(program))


def _is_agent(program: Program[Any]) -> TypeGuard[AnyBinding]:
    return isinstance(program, Binding)


def _twice(found: Plan) -> Iterator[Problem]:
    by_id: dict[str, AnyBinding] = {}
    for binding in _bindings(found):
        first = by_id.setdefault(binding.agent.id, binding)
        if first is not binding:
            yield duplicate_agent(first, binding)


def _short_lived(found: Plan) -> Iterator[Problem]:
    for program, sight in found.sights:
        if _is_agent(program):
            lives = {key: node.life for key, node in (*sight.app.items(), *sight.private.items())}
            yield from short_lived(program, [key for key, life in lives.items() if life == "request"])
