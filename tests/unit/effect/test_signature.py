from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import attrs
import pytest

from lamina.effect import (
    ConstructionError,
    Need,
    attempt,
    bind,
    fallible,
    handler,
    layer,
    read_needs,
    resolved_hints,
    scoped,
)
from lamina.effect._names import name_of

if TYPE_CHECKING:
    from decimal import Decimal


class Db: ...


class Log: ...


@attrs.frozen
class Service:
    db: Db
    log: Annotated[Log, "loud"]


class Inherits(Service): ...


def refusal(make: Any) -> str:
    with pytest.raises(ConstructionError) as caught:
        read_needs(make)
    assert "test_signature.py:" in str(caught.value)
    return str(caught.value)


def test_reads_classes_functions_and_methods() -> None:
    def function(db: Db) -> Log: ...

    class Holder:
        def method(self, db: Db) -> Log: ...

        def __call__(self, db: Db) -> Log: ...

    expected = [("db", Db)]
    assert [(need.name, need.key) for need in read_needs(function)] == expected
    assert [(need.name, need.key) for need in read_needs(Holder().method)] == expected
    assert [(need.name, need.key) for need in read_needs(Holder())] == expected
    assert [need.key for need in read_needs(Service)] == [Db, Log]
    assert [need.key for need in read_needs(Inherits)] == [Db, Log]
    assert read_needs(Db) == ()


def test_skips_leading_parameters() -> None:
    def function(command: int, db: Db) -> Log: ...

    assert [need.key for need in read_needs(function, skip=1)] == [Db]


def test_hints_keep_their_extras() -> None:
    def function(text: Annotated[str, "x"]) -> None: ...

    assert resolved_hints(function)["text"] == Annotated[str, "x"]


def test_refuses_what_a_type_checker_would_read_otherwise_all_in_one_report() -> None:
    def function(  # type: ignore[no-untyped-def]
        union: Db | Log,
        maybe: Db | None,
        bare,
        anything: Any,
        default: Db | Log = Db(),  # noqa: B008
        *rest: Db,
        key: Db,
        **more: Db,
    ): ...

    text = refusal(function)
    for reason in (
        "'union' is a union (Db | Log); to a type checker that is several needs",
        "'maybe' is a union (Db | None)",
        "'bare' has no annotation",
        "'anything' names no service",
        "'default' has a default",
        "'rest' is variadic",
        "'key' is keyword-only",
        "'more' is variadic",
    ):
        assert reason in text


def test_leaves_a_constructors_settings_out_where_it_is_told_to() -> None:
    def function(db: Db, url: str | None = None, *rest: str, secure: bool = True, **more: str) -> Log: ...

    assert read_needs(function, defaults=True) == (Need("db", Db),)


def test_a_keyword_only_need_is_refused_although_settings_are_left_out() -> None:
    def function(*, key: Db, other: int = 1) -> Log: ...

    with pytest.raises(ConstructionError, match="keyword-only"):
        read_needs(function, defaults=True)


def test_refuses_what_only_a_type_checker_sees() -> None:
    def function(amount: Decimal) -> Db: ...

    assert "annotation 'Decimal' does not exist at run time: import it outside `if TYPE_CHECKING`" in refusal(function)


def returns_nothing(): ...  # type: ignore[no-untyped-def]


def gives_plain() -> Iterator[Db]:
    yield Db()


async def generates() -> AsyncIterator[Db]:
    yield Db()


async def generates_untyped():  # type: ignore[no-untyped-def]
    yield Db()


async def answers() -> Db:
    return Db()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: layer(returns_nothing), "names the service it offers"),
        (lambda: layer(generates), "give it to scoped"),
        (lambda: scoped(answers), "is no async generator function"),  # type: ignore[arg-type]
        (lambda: scoped(generates_untyped), "AsyncIterator\\[Service\\]"),
        (lambda: attempt(answers), "Result\\[Service, Error\\]"),  # type: ignore[arg-type]
        (lambda: attempt(generates), "AsyncIterator\\[Result\\[Service, Error\\]\\]"),  # type: ignore[arg-type]
        (lambda: attempt(generates_untyped), "AsyncIterator\\[Result\\[Service, Error\\]\\]"),
        (lambda: attempt(gives_plain), "no `async def` function that answers a Result"),  # type: ignore[arg-type]
        (lambda: attempt(answers, life="request"), "lives as long as the app"),  # type: ignore[arg-type]
        (lambda: bind(Db).to(gives_plain), "is a plain generator"),  # type: ignore[arg-type]
        (lambda: layer(print), "names the service it offers"),
        (lambda: layer(type), "no signature that can be read"),
        (lambda: layer(3), "neither a class nor a function"),  # type: ignore[call-overload]
        (lambda: layer(Db, life="session"), "'app' or 'request'"),  # type: ignore[call-overload]
        (lambda: handler(returns_nothing), "has to be an `async def` function"),
        (lambda: handler(answers), "takes the command first"),  # type: ignore[arg-type]
        (lambda: fallible(no_token), "annotated with Try"),  # type: ignore[arg-type]
    ],
)
def test_constructors_say_what_is_wrong_and_where(make: Any, why: str) -> None:
    with pytest.raises(ConstructionError, match=f"(?s){why}.*test_signature.py:"):
        make()


async def no_token(command: int, db: Db) -> Db:
    return db


def test_names() -> None:
    assert name_of(dict[str, list[int]]) == "dict[str, list[int]]"
    assert name_of(Codec[Db]) == "Codec[Db]"


def test_classes_that_are_local_to_a_function_are_found() -> None:
    class Local: ...

    def function(local: Local) -> Db: ...

    assert [need.key for need in read_needs(function)] == [Local]


T = TypeVar("T")


class Codec(Generic[T]): ...


class Repo(Generic[T]):
    def __init__(self, codec: Codec[T], one: type[T]) -> None: ...


def test_an_alias_fills_in_its_classs_type_variables() -> None:
    assert [need.key for need in read_needs(Repo[int])] == [Codec[int], type[int]]
