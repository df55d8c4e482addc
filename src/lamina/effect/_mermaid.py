"""A plan as Mermaid text, to look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lamina.effect._graph import Chosen, Made, Node, Seeded, reachable
from lamina.effect._names import name_of

_ESCAPES = str.maketrans({"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "\n": " "})


def draw(programs: Iterable[tuple[str, Sequence[Node]]], roots: Iterable[Node]) -> str:
    """Draw programs and instances, with an arrow from each to what it is made from.

    A resource that is released has round ends, a seed is a flag, a fork a rhombus with a dotted line to its fallback;
    what lives for a request has a dashed border.
    """
    uses = list(programs)
    nodes = reachable([*roots, *(node for _, used in uses for node in used)])
    ids = {node: f"n{at}" for at, node in enumerate(nodes)}
    lines = ["graph TD"]
    lines += [f"  p{at}{{{{{_label(name)}}}}}" for at, (name, _) in enumerate(uses)]
    lines += [f"  {ids[node]}{_shape(node)}{':::request' if node.life == 'request' else ''}" for node in nodes]
    lines += [f"  p{at} --> {ids[node]}" for at, (_, used) in enumerate(uses) for node in dict.fromkeys(used)]
    for node in nodes:
        lines += [f"  {ids[node]} {arrow} {ids[other]}" for arrow, other in _arrows(node)]
    return "\n".join([*lines, "  classDef request stroke-dasharray: 4"])


def _arrows(node: Node) -> list[tuple[str, Node]]:
    match node:
        case Made(_, dependencies):
            return [("-->", other) for other in dict.fromkeys(dependencies) if other is not None]
        case Chosen(_, _, primary, fallback):
            return [("-->", primary), ("-.->", fallback)]
        case Seeded():
            return []


def _shape(node: Node) -> str:
    match node:
        case Seeded(key):
            return f">{_label(name_of(key))}]"
        case Chosen(key):
            return f"{{{_label(f'{name_of(key)} or fallback')}}}"
        case Made(leaf):
            name = name_of(leaf.key)
            label = _label(name if leaf.label == name else f"{name}: {leaf.label}")
            return f"([{label}])" if leaf.kind in ("scope", "tried scope") else f"[{label}]"


def _label(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'
