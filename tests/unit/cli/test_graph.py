"""A plan's Mermaid text as a tree."""

from __future__ import annotations

from collections.abc import AsyncIterator

from rich.console import Console
from rich.tree import Tree

from lamina.cli._graph import trees_of
from lamina.demo import app
from lamina.effect import bind, layer, plan, scoped


class Log: ...


class Db:
    def __init__(self, log: Log) -> None: ...


class Shop:
    def __init__(self, db: Db, log: Log) -> None: ...


class Desk:
    def __init__(self, db: Db) -> None: ...


class Tx: ...


async def transaction(db: Db) -> AsyncIterator[Tx]:
    yield Tx()


def drawn(trees: list[Tree]) -> str:
    console = Console(width=80, file=None)
    with console.capture() as captured:
        for tree in trees:
            console.print(tree)
    return captured.get()


def test_the_demo_is_drawn_with_its_agent_on_top() -> None:
    text = drawn(trees_of(app.plan().mermaid()))

    assert text.splitlines()[0] == 'agent "triage"'
    assert "├── LanguageModel: TriageModel\n" in text
    assert "│   └── Workspace: shipped_reports\n" in text


def test_what_several_need_is_drawn_once() -> None:
    mermaid = plan(layer(Log) | layer(Db) | layer(Shop) | layer(Desk)).mermaid()
    text = drawn(trees_of(mermaid))

    assert text.splitlines() == ["Shop", "├── Db", "│   └── Log", "└── Log", "Desk", "└── Db (see above)"]


def test_every_shape_of_the_plan_is_understood() -> None:
    mermaid = plan(layer(Log) | layer(Db) | scoped(transaction, life="request") | bind(int).value(3)).mermaid()
    text = drawn(trees_of(mermaid))

    assert text.splitlines()[0].startswith("Tx: transaction")
    assert "int: int (a value)" in text
