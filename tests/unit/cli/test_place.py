"""Where a store is: what the command line and the environment say, and what of it may be shown."""

from __future__ import annotations

import pytest

from lamina.cli._exits import UsageError
from lamina.cli._place import store_place


def test_the_option_comes_before_the_environment_and_that_before_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAMINA_STORE", raising=False)
    default = store_place(None)
    monkeypatch.setenv("LAMINA_STORE", "env.db")
    by_environment, by_option = store_place(None), store_place("option.db")
    monkeypatch.setenv("LAMINA_STORE", "")
    emptied = store_place(None)

    assert [each.title for each in (default, by_environment, by_option, emptied)] == [
        "lamina.db",
        "env.db",
        "option.db",
        "lamina.db",
    ]
    assert [each.words for each in (default, by_environment, by_option)] == [
        "",
        " --store env.db",
        " --store option.db",
    ]
    assert [each.named for each in (default, by_environment, by_option)] == [False, False, True]


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ada:s3cret@db.example:5433/agents", "postgresql://ada@db.example:5433/agents"),
        ("postgres://db.example/agents?password=s3cret&user=ada", "postgres://db.example/agents?user=ada"),
        ("postgresql:///agents?host=/run/pg&password=s3cret", "postgresql:///agents?host=/run/pg"),
        ("postgresql://a.example:1,[::1]:2/agents", "postgresql://a.example:1,[::1]:2/agents"),
        ("postgresql://ada:s3c@ret@db.example/agents", "postgresql://ada@db.example/agents"),
        ("postgresql://[broken:s3cret", "postgresql://…"),
        ("postgresql://ada:s3c/ret@db.example/agents", "postgresql://…"),
        ("postgresql://ada:s3c#ret@db.example/agents", "postgresql://…"),
        ("postgresql://ada:s3c?ret@db.example/agents", "postgresql://…"),
        ("postgresql://ada:s3cret", "postgresql://…"),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, shown: str) -> None:
    place = store_place(address)

    assert place.is_server
    assert not place.is_new
    assert place.title == shown
    assert "s3c" not in place.words + repr(place)


def test_what_the_environment_says_with_a_password_is_not_said_again_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_STORE", "postgresql://ada:s3cret@db.example/agents")
    with_password = store_place(None).words
    monkeypatch.setenv("LAMINA_STORE", "postgresql://ada@db.example/agents")

    assert (with_password, store_place(None).words) == ("", " --store postgresql://ada@db.example/agents")


@pytest.mark.parametrize(
    "address", ["postgresql://ada:s3c/ret@db.example/agents", "postgresql://ada:s3c#ret@h/a", "postgresql://ada:s3cret"]
)
def test_an_address_that_cannot_be_read_is_refused_and_not_quoted(address: str) -> None:
    with pytest.raises(UsageError) as raised:
        store_place(address).layer()

    assert raised.value.message == "The store postgresql://… cannot be used here."
    assert raised.value.hints[0].startswith("Write postgresql://user@host:port/database, ")


def test_what_is_typed_again_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert store_place("a b; rm -rf $HOME.db").words == " --store 'a b; rm -rf $HOME.db'"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "--store has to name a file, or begin with postgresql://."),
        ("a\0b", "--store has to name a file, or begin with postgresql://."),
        (":memory:", "--store has to name a file, or begin with postgresql://."),
        ("x" * 5_000, "--store has to name a file, or begin with postgresql://."),
        ("mysql://x/y", "There is no store of the kind mysql://."),
        ("\x1b[2J://x", "There is no store of the kind \ufffd[2J://."),
        ("ada:s3cret:pg://x", "There is no store of the kind pg://."),
        ("postgresql:ada:s3cret@db.example/agents", "--store is no address of a database."),
        ("postgres:/db.example/agents", "--store is no address of a database."),
        ("host=db.example password=s3cret dbname=agents", "--store is no address of a database."),
    ],
)
def test_what_names_no_store_is_refused(text: str, told: str) -> None:
    with pytest.raises(UsageError) as raised:
        store_place(text)

    assert raised.value.message == told
