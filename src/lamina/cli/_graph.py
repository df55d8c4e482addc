"""A plan as a small tree for the terminal, read from its Mermaid text."""

from __future__ import annotations

import html
import re

from rich.text import Text
from rich.tree import Tree

_NODE = re.compile(r'  (\w+)[\[({>]+"(.*)"[\])}]+(?::::?\w+)?$')
_EDGE = re.compile(r"  (\w+) (-->|-\.->) (\w+)$")
_ESCAPE = re.compile(r"#(\w+);")


def trees_of(mermaid: str, *, guide_style: str = "dim") -> list[Tree]:
    """Draw each program with what it is made from; what several need is drawn out once, and named after that.

    Args:
        mermaid: What `Plan.mermaid` gives.
        guide_style: How the lines look.
    """
    labels: dict[str, str] = {}
    edges: dict[str, list[str]] = {}
    for line in mermaid.splitlines():
        if edge := _EDGE.match(line):
            edges.setdefault(edge[1], []).append(edge[3])
        elif node := _NODE.match(line):
            labels[node[1]] = html.unescape(_ESCAPE.sub(r"&\1;", node[2]))
    used = {one for targets in edges.values() for one in targets}
    drawn: set[str] = set()

    def grow(tree: Tree, node: str) -> None:
        for target in edges.get(node, []):
            again = target in drawn and bool(edges.get(target))
            branch = tree.add(_label(labels[target], again=again))
            if not again:
                drawn.add(target)
                grow(branch, target)

    trees: list[Tree] = []
    for root, label in labels.items():
        if root not in used:
            tree = Tree(_label(label, again=False), guide_style=guide_style)
            grow(tree, root)
            trees.append(tree)
    return trees


def _label(label: str, *, again: bool) -> Text:
    service, colon, made_by = label.partition(": ")
    return Text.assemble((service, "bold"), (f"{colon}{made_by}", "dim"), (" (see above)" if again else "", "dim"))
