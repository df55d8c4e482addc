"""A conversation's history is looked through once, and then only what is new of it."""

from __future__ import annotations

from typing import Any

import pytest

from lamina.conversation import History
from lamina.engine import CleanHistories
from lamina.model import Message, UserMessage
from lamina.redaction import MASK, Secrets

SECRET = "s3cr3t-token"


class Counting(Secrets):
    looked = 0

    def redact_in(self, value: Any) -> Any:
        self.looked += 1
        return super().redact_in(value)


def grown(*texts: str, before: tuple[Message, ...] = ()) -> History:
    return History((*before, *[UserMessage.of(text) for text in texts]))


def texts(history: History) -> list[str]:
    return [message.text for message in history.messages if isinstance(message, UserMessage)]


def test_what_has_only_grown_is_looked_through_once() -> None:
    secrets, histories = Counting(SECRET), CleanHistories()
    first = grown("a", SECRET)
    assert texts(histories.of(secrets, "c", first)) == ["a", MASK]
    second = grown("b", before=first.messages)
    assert texts(histories.of(secrets, "c", second)) == ["a", MASK, "b"]
    assert texts(histories.of(secrets, "c", second)) == ["a", MASK, "b"]
    assert secrets.looked == 3


@pytest.mark.parametrize("other", [("z", "y", "x"), ("z",)], ids=["longer", "shorter"])
def test_another_history_is_looked_through_anew(other: tuple[str, ...]) -> None:
    secrets, histories = Counting(SECRET), CleanHistories()
    histories.of(secrets, "c", grown("a", SECRET))
    assert texts(histories.of(secrets, "c", grown(*other))) == list(other)
    assert secrets.looked == 2 + len(other)


def test_a_new_secret_begins_it_anew_and_nothing_is_done_without_any() -> None:
    secrets, histories = Counting(), CleanHistories()
    history = grown("a", SECRET, "other-secret")
    assert histories.of(secrets, "c", history) is history
    secrets.register("other-secret")
    assert texts(histories.of(secrets, "c", history)) == ["a", SECRET, MASK]
    secrets.register(SECRET)
    assert texts(histories.of(secrets, "c", history)) == ["a", MASK, MASK]


def test_a_clean_history_is_the_same_and_the_last_few_are_kept() -> None:
    secrets, histories = Counting(SECRET), CleanHistories()
    history = grown("a")
    assert histories.of(secrets, "c", history) is history
    for number in range(CleanHistories.MOST):
        histories.of(secrets, f"c-{number}", history)
    looked = secrets.looked
    assert histories.of(secrets, "c", history) is history
    assert secrets.looked == looked + 1
