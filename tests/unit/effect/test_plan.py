from __future__ import annotations

import re
from abc import ABC
from collections.abc import AsyncIterator
from typing import Any, Generic, TypeVar

import attrs
import pytest
from returns.result import Result, Success

from lamina.effect import (
    Declaration,
    Layer,
    Plan,
    Problem,
    Program,
    Requirement,
    Where,
    attempt,
    bind,
    handler,
    layer,
    plan,
    scoped,
    seed,
)

T = TypeVar("T")


class Log: ...


class Db(ABC): ...  # noqa: B024


class PgDb(Db):
    def __init__(self, log: Log) -> None: ...


class FakeDb(Db): ...


class Users:
    def __init__(self, db: Db, log: Log) -> None: ...


class Tx: ...


class Ledger:
    def __init__(self, tx: Tx) -> None: ...


class Principal: ...


class Repo(Generic[T]): ...


class X:
    def __init__(self, y: Y) -> None: ...


class Y:
    def __init__(self, z: Z, x: X) -> None: ...


class Z:
    def __init__(self, x: X) -> None: ...


class Self:
    def __init__(self, me: Self) -> None: ...


@attrs.frozen(eq=False)
class Agent(Program[Any]):
    requirements: tuple[Requirement, ...]
    private: Layer[Any, Any, Any] | None = None
    problems: tuple[Problem, ...] = ()

    def declare(self) -> Declaration:
        return Declaration('agent "triage"', Where("app/agents.py", 9), self.requirements, self.problems, self.private)


def asks(key: object, **options: Any) -> Requirement:
    return Requirement(key, "tool label_issue (needs_approval)", Where("app/tools.py", 31), **options)


def report(planned: Plan) -> str:
    """Give the report with the numbers of this file's lines left out."""
    return re.sub(r"\S*test_plan\.py:\d+", "HERE", "\n".join(map(str, planned.problems)))


def test_a_plan_without_problems_raises_nothing() -> None:
    planned = plan(layer(Users) | bind(Db).to(PgDb) | layer(Log))
    assert planned.problems == ()
    planned.raise_problems()


def test_missing_names_every_user_and_the_line_to_write() -> None:
    assert report(plan(layer(Users) | bind(Db).to(PgDb))) == (
        "MISSING Log\n  layer PgDb(log: Log)  HERE\n  layer Users(log: Log)  HERE\n  write: | layer(Log)"
    )


def test_missing_proposes_the_subclass_that_is_offered() -> None:
    assert report(plan(layer(Users) | layer(PgDb) | layer(Log))) == (
        "MISSING Db\n  layer Users(db: Db)  HERE\n  write: | bind(Db).to(PgDb)"
    )


def test_missing_tells_of_the_base_class_that_is_offered() -> None:
    def needs_pg(db: PgDb) -> Tx:
        return Tx()

    text = report(plan(layer(needs_pg) | bind(Db).to(FakeDb)))
    assert "Db is offered, of which PgDb is a subclass" in text


def test_missing_tells_similar_names() -> None:
    class Logs: ...

    assert "similar name: Logs" in report(plan(bind(Db).to(PgDb) | layer(Logs)))


def test_missing_of_a_program_stands_in_the_same_report() -> None:
    agent = Agent((asks(Db, write="| bind(Db).to(PgDb)"), asks(Tx, optional=True)))
    assert report(plan(layer(Users) | layer(Log), [agent])) == (
        "MISSING Db\n"
        "  layer Users(db: Db)  HERE\n"
        '  tool label_issue (needs_approval)   app/tools.py:31, in agent "triage"  app/agents.py:9\n'
        "  write: | bind(Db).to(PgDb)"
    )


def test_a_handler_says_which_parameter_needs_what() -> None:
    @handler
    async def buy(command: int, users: Users) -> int:
        return 1

    assert report(plan(layer(Log), [buy])) == ("MISSING Users\n  handler buy(users)  HERE\n  write: | layer(Users)")


def test_a_programs_own_problems_join_the_report() -> None:
    problem = Problem("DUPLICATE", "tool x")
    assert plan(layer(Log), [Agent((), problems=(problem,))]).problems == (problem,)


def test_duplicate_names_both_places() -> None:
    planned = plan(bind(Db).to(FakeDb) | bind(Db).to(PgDb) | layer(Log))
    assert report(planned) == (
        "DUPLICATE Db\n  layer FakeDb for Db  HERE\n  layer PgDb for Db  HERE\n"
        "  write: keep one, or hide one with .provide(...)"
    )


def test_the_same_leaf_twice_is_no_duplicate() -> None:
    log = layer(Log)
    assert plan(log | bind(Db).to(PgDb).provide_merge(log) | log).problems == ()


def test_one_leaf_fed_differently_is_a_duplicate() -> None:
    db = bind(Db).to(PgDb)
    assert "in two places that feed it differently" in report(plan(db.provide(layer(Log)) | db.provide(layer(Log))))


def test_a_layer_that_is_made_twice_in_one_line_says_so() -> None:
    assert report(plan(layer(Tx) | layer(Tx))).startswith("DUPLICATE Tx\n  layer Tx  HERE, made there more than once;")


def test_a_clock_that_is_missing_proposes_the_real_one() -> None:
    async def connect() -> Result[Tx, str]: ...

    assert report(plan(attempt(connect).retry(2))).endswith("write: | bind(Clock).to(SystemClock)")


def test_what_is_no_program_is_a_problem_like_any_other() -> None:
    async def undecorated(command: int) -> int: ...

    wrong: Any = undecorated
    assert report(plan(layer(Ledger), [wrong])).startswith(
        "MISSING Tx\n  layer Ledger(tx: Tx)  HERE\n  write: | layer(Tx)\n"
        "PROGRAM undecorated\n  is no program  HERE\n  write: @handler"
    )


def test_a_fake_that_is_no_layer_is_refused() -> None:
    wrong: Any = FakeDb
    with pytest.raises(TypeError, match="FakeDb.* is no layer; make one with"):
        layer(Tx).replace(wrong)


def test_a_seed_that_is_offered_is_a_duplicate() -> None:
    assert report(plan(layer(Tx), seeds=seed(Tx))).startswith("DUPLICATE Tx\n  seed Tx\n  layer Tx  HERE")


def test_every_ring_is_reported_whole() -> None:
    planned = plan(layer(X) | layer(Y) | layer(Z) | layer(Self))
    rings = sorted(problem.subject for problem in planned.problems)
    assert len(rings) == 3
    assert "Self -> Self" in rings
    assert {frozenset(ring.split(" -> ")) for ring in rings} == {
        frozenset({"Self"}),
        frozenset({"X", "Y"}),
        frozenset({"X", "Y", "Z"}),
    }
    assert all(problem.kind == "CYCLE" for problem in planned.problems)
    assert "layer X(y: Y)  HERE" in report(planned)


def test_a_ring_hides_nothing_else() -> None:
    kinds = [problem.kind for problem in plan(layer(X) | layer(Y) | layer(Z) | layer(Users) | layer(Log)).problems]
    assert kinds == ["MISSING", "CYCLE", "CYCLE"]


def test_the_app_cannot_need_what_lives_for_a_request() -> None:
    assert report(plan(layer(Ledger) | layer(Tx, life="request"))) == (
        "LIFETIME Tx\n  layer Ledger(tx: Tx)  HERE, lives for the app; Tx for a request\n"
        '  write: life="request" for Ledger'
    )
    assert report(plan(layer(Ledger), seeds=seed(Tx))).startswith("LIFETIME Tx")
    assert plan(layer(Ledger, life="request"), seeds=seed(Tx)).problems == ()


def test_the_app_cannot_need_a_fork_with_a_side_that_lives_for_a_request() -> None:
    @attempt
    async def connect() -> Result[Tx, str]:
        return Success(Tx())

    assert report(plan(layer(Ledger) | connect.catch(layer(Tx, life="request")))).startswith("LIFETIME Tx")


def test_override_of_nothing_proposes_the_base_class() -> None:
    planned = plan(bind(Db).to(PgDb).replace(bind(FakeDb).to(FakeDb)) | layer(Log))
    (problem,) = planned.problems
    assert (problem.kind, problem.subject, problem.write) == ("OVERRIDE", "FakeDb", "bind(Db).to(FakeDb)")


def test_replace_reaches_through_provide_and_brings_its_own() -> None:
    class Settings: ...

    def fake(log: Log, settings: Settings) -> Db:
        return FakeDb()

    app = layer(Users).provide(bind(Db).to(PgDb) | layer(Log)) | layer(Log)
    planned = plan(app.replace(bind(Db).to(fake).provide(layer(Settings))))  # type: ignore[arg-type, unused-ignore]
    text = planned.mermaid()
    assert "PgDb" not in text
    assert "fake" in text


def test_the_outer_replacement_wins() -> None:
    planned = plan(bind(Db).to(FakeDb).replace(bind(Db).value(FakeDb())).replace(bind(Db).to(PgDb)) | layer(Log))
    assert "PgDb" in planned.mermaid()
    assert "a value" not in planned.mermaid()


def test_a_fallback_has_to_offer_all() -> None:
    @attempt
    async def connect() -> Result[Tx, str]:
        return Success(Tx())

    caught: Any = connect.catch(layer(Log))  # type: ignore[arg-type, unused-ignore]
    assert report(plan(caught)).startswith("FALLBACK Tx\n  is not offered by the fallback  HERE")


def test_unused_is_told_when_programs_are_given_and_is_no_problem() -> None:
    app = layer(Users) | bind(Db).to(PgDb) | layer(Log) | layer(Tx, life="request")
    assert plan(app).unused == ()
    planned = plan(app, [Agent((asks(Db),))])
    assert planned.problems == ()
    assert [problem.subject for problem in planned.unused] == ["Users", "Tx"]


def test_a_private_layer_is_seen_by_its_program_only() -> None:
    seeing = Agent((asks(Users),), layer(Users))
    blind = Agent((asks(Users),))
    assert plan(bind(Db).to(PgDb) | layer(Log), [seeing]).problems == ()
    assert report(plan(bind(Db).to(PgDb) | layer(Log), [seeing, blind])).startswith("MISSING Users\n  tool")


def test_a_private_layers_needs_are_reported() -> None:
    assert "layer Users(db: Db)  HERE" in report(plan(layer(Log), [Agent((), layer(Users))]))


def test_generic_aliases_are_keys_of_their_own() -> None:
    def ints() -> Repo[int]:
        return Repo()

    def needs_text(repo: Repo[str]) -> Tx:
        return Tx()

    planned = plan(layer(ints) | layer(needs_text))
    assert [problem.subject for problem in planned.problems] == ["Repo[str]"]
    assert plan(bind(Repo[str]).to(Repo[str]) | layer(ints) | layer(needs_text)).problems == ()


def test_a_long_chain_is_planned_without_recursion() -> None:
    below: Any = Log
    bag: Layer[Any, Any, Any] = layer(Log)
    for at in range(3000):
        made = type(f"Link{at}", (), {})

        def link(needed: Any) -> Any:
            raise AssertionError

        link.__annotations__.update({"needed": below, "return": made})
        bag, below = layer(link) | bag, made
    assert plan(bag).problems == ()


def test_mermaid_draws_and_escapes() -> None:
    @scoped
    async def tx(principal: Principal) -> AsyncIterator[Tx]:
        yield Tx()

    request = bind(Tx).to(lambda: Tx())
    planned = plan(bind(Db).to(PgDb) | layer(Log), [Agent((asks(Db),))], seed(Principal))
    assert planned.mermaid() == (
        "graph TD\n"
        '  p0{{"agent #quot;triage#quot;"}}\n'
        '  n0["Log"]\n'
        '  n1["Db: PgDb"]\n'
        '  n2>"Principal"]:::request\n'
        "  p0 --> n1\n"
        "  n1 --> n0\n"
        "  classDef request stroke-dasharray: 4"
    )
    assert '["Tx: #lt;lambda#gt;"]' in plan(request).mermaid()
    assert '(["Tx: tx"])' in plan(tx, seeds=seed(Principal)).mermaid()


def test_mermaid_draws_both_sides_of_a_fork() -> None:
    @attempt
    async def connect() -> Result[Tx, str]:
        return Success(Tx())

    text = plan(connect.catch(layer(Tx))).mermaid()
    assert "or fallback" in text
    assert "-.->" in text


def test_plan_is_pure() -> None:
    def explodes() -> Log:
        raise AssertionError

    assert plan(layer(explodes)).problems == plan(layer(explodes)).problems == ()


@pytest.mark.parametrize("size", [50])
def test_planning_fifty_is_quick(size: int) -> None:
    """The bound is 10 ms (`benchmarks/layers.py` measures it); here only that it is no power of the size."""
    below: list[type] = []
    bag: Layer[Any, Any, Any] = layer(Log)
    for at in range(size):
        made = type(f"Wide{at}", (), {})

        def wide(*needed: Any) -> Any:
            raise AssertionError

        scope: dict[str, Any] = {}
        exec(f"def wide({', '.join(f'n{one}' for one in range(len(below)))}): ...", scope)
        scope["wide"].__annotations__.update({f"n{one}": key for one, key in enumerate(below)}, **{"return": made})
        bag |= layer(scope["wide"])
        below.append(made)
    assert plan(bag).problems == ()
