"""Ids and principals: plain texts only."""

from __future__ import annotations

from typing import Any

import pytest

from lamina.conversation import check_id, check_principal
from lamina.conversation._ids import stored_id


@pytest.mark.parametrize("given", ["a", "x" * 128, "support 7", "Größe:7@b~c", "...", "用户-1"])
def test_it_is_an_id(given: str) -> None:
    assert check_id("run", given) is None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("", "empty"),
        ("x" * 129, "more than 128"),
        ("x" * 10_000, "more than 128"),
        ("a/b", "separator"),
        ("a\\b", "separator"),
        ("..", "folder"),
        (".", "folder"),
        ("a\0", "printed"),
        ("a\n", "printed"),
        ("a\u202eb", "printed"),
        ("\ud800", "printed"),
        (" a", "space"),
        (b"a", "no text"),
        (None, "no text"),
        (type("S", (str,), {})("a"), "no text"),
    ],
)
def test_it_is_no_id(given: Any, why: str) -> None:
    refused = check_id("run", given)
    assert refused is not None
    assert refused.what == "run"
    assert why in refused.why
    assert str(given)[:20] not in str(refused) or not given or len(str(given)) < 3


@pytest.mark.parametrize("given", [None, "ada", "x" * 256, "https://example.org/ada", "DOMAIN\\ada", "auth0|7"])
def test_it_is_a_principal(given: str | None) -> None:
    assert check_principal(given) is None


@pytest.mark.parametrize("given", ["", "x" * 257, "a\0", "a\n", 7, " ada"])
def test_it_is_no_principal(given: Any) -> None:
    assert check_principal(given) is not None


def test_stored_ids_are_as_different_as_the_ids() -> None:
    ids = ["a", "a\0", "a\\0", "a\\\\0", "a\\\0", "\\", "\0"]
    assert len({stored_id(each) for each in ids}) == len(ids)
    assert all("\0" not in stored_id(each) for each in ids)
