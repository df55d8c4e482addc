from __future__ import annotations

import pytest

from lamina.effect import ConstructionError, Seeds, bind, layer, seed


class Principal: ...


class Caller: ...


class Stranger: ...


def test_are_put_together_without_repeats() -> None:
    seeds = seed(Principal) | seed(Caller) | seed(Principal)
    assert seeds.keys == (Principal, Caller)
    assert repr(seeds) == "Seeds(Principal, Caller)"


def test_given_reads_values_in_the_order_of_the_seeds() -> None:
    seeds = seed(Principal) | seed(Caller)
    principal, caller = Principal(), Caller()
    assert seeds.given(bind(Caller).value(caller) | bind(Principal).value(principal)) == (principal, caller)
    assert Seeds[object](()).keys == ()


def test_given_lists_all_that_is_wrong() -> None:
    seeds = seed(Principal) | seed(Caller)
    wrong = bind(Stranger).value(Stranger()) | bind(Principal).to(Principal)
    with pytest.raises(ConstructionError) as caught:
        seeds.given(wrong)  # type: ignore[arg-type]
    assert [(problem.kind, problem.subject) for problem in caught.value.problems] == [
        ("SEED", "Stranger"),
        ("SEED", "Principal"),
        ("MISSING", "Caller"),
    ]
    assert "write: | bind(Caller).value(...)" in str(caught.value)
    assert "test_seeds.py" in str(caught.value)


def test_given_refuses_two_values_for_one_seed() -> None:
    two = bind(Principal).value(Principal()) | bind(Principal).value(Principal())
    with pytest.raises(ConstructionError, match="DUPLICATE Principal"):
        seed(Principal).given(two)


def test_a_seed_is_no_layer() -> None:
    assert not isinstance(seed(Principal), type(layer(Caller)))
