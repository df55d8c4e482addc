from __future__ import annotations

import copy
import dataclasses
import logging
import pickle
import re
from collections import namedtuple
from threading import Thread
from typing import Any

import attrs
import pytest

from lamina.effect import ConstructionError, tagged
from lamina.redaction import (
    LONGEST_SECRET,
    MASK,
    TOO_DEEP,
    TOO_LARGE,
    RedactionLimits,
    SecretPattern,
    SecretRefused,
    Secrets,
    StreamRedactor,
)

TOKEN = "tok-9f2c71d0"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "at least 6"),
        ("  12345 \n", "has 5"),
        ("x" * (LONGEST_SECRET + 1), "at most 8192"),
        ("------", "over and over"),
        ("REDACTED", "stands in place"),
        ("secret]", "stands in place"),
        ("abc\ud800def", "UTF-8"),
    ],
)
def test_a_value_that_cannot_be_kept_secret_is_refused_and_not_quoted(value: str, why: str) -> None:
    with pytest.raises(SecretRefused, match=why) as refused:
        Secrets(value)

    assert not value.strip() or value.strip() not in str(refused.value)


@pytest.mark.parametrize("regex", ["(", "a*", "", "x|"])
def test_a_pattern_that_cannot_be_used_is_refused_where_it_is_written(regex: str) -> None:
    with pytest.raises(ConstructionError, match=r"test_secrets\.py"):
        SecretPattern(regex)


@pytest.mark.parametrize("longest", [0, -1, 8_193])
def test_a_pattern_has_a_length(longest: int) -> None:
    with pytest.raises(ConstructionError, match="1 to 8192"):
        SecretPattern("abc", longest=longest)


def test_nothing_registered_changes_nothing() -> None:
    secrets = Secrets()
    value: Any = {"a": [1, {"b": TOKEN}], "deep": object()}

    assert not secrets.active
    assert secrets.redact(value) is value
    assert secrets.redact_in(value) is value
    assert secrets.redact_text(TOKEN) is TOKEN


def test_white_space_around_a_value_does_not_count() -> None:
    assert Secrets(f" {TOKEN}\n").redact_text(f"({TOKEN})") == f"({MASK})"


def test_a_key_of_several_lines_is_found_with_either_line_end() -> None:
    key = "-----BEGIN KEY-----\nMIIabc\nxyz==\n-----END KEY-----"
    secrets = Secrets(key)

    assert secrets.redact_text(key) == MASK
    assert secrets.redact_text(key.replace("\n", "\r\n")) == MASK


def test_overlapping_values_are_hidden_whole_whichever_is_longer() -> None:
    secrets = Secrets("abcdef", "defghijk", "bcdefg", "abcdefghijkl")

    assert secrets.redact_text("xabcdefghijky") == f"x{MASK}y"
    assert secrets.redact_text("xabcdefghijkly") == f"x{MASK}y"
    assert secrets.redact_text("abcdefabcdef") == MASK * 2


def test_keys_numbers_and_what_shares_a_mask() -> None:
    secrets = Secrets(TOKEN, "12345678", "other-token")

    assert secrets.redact({TOKEN: 1, "other-token": 2, "n": 12345678, "m": 91234567.8, "k": [True, None]}) == {
        MASK: 1,
        f"{MASK} 2": 2,
        "n": MASK,
        "m": 91234567.8,
        "k": [True, None],
    }
    assert secrets.redact({"n": -123456789.5, "x": 1}) == {"n": MASK, "x": 1}


def test_what_holds_nothing_is_not_copied() -> None:
    clean, dirty = {"a": ["b"]}, {"c": TOKEN}

    out: Any = Secrets(TOKEN).redact([clean, dirty])

    assert out == [{"a": ["b"]}, {"c": MASK}]
    assert out[0] is clean
    assert dirty == {"c": TOKEN}


def test_values_that_orjson_does_not_write_are_looked_through_all_the_same() -> None:
    secrets = Secrets(TOKEN)
    lone = f"\ud800{TOKEN}é"

    assert secrets.redact([2**70, lone]) == [2**70, f"\ud800{MASK}é"]
    huge: Any = [10**5000, TOKEN]
    assert secrets.redact(huge) == [10**5000, MASK]
    assert Secrets("12345678").redact(huge)[0] == TOO_LARGE


def test_what_lies_beyond_the_limits_is_not_let_out() -> None:
    deep: Any = TOKEN
    for _ in range(300):
        deep = [deep]
    secrets = Secrets(TOKEN)

    assert TOKEN not in repr(secrets.redact(deep))
    assert TOO_DEEP in repr(secrets.redact(deep))
    few = Secrets(TOKEN, limits=RedactionLimits(nodes=3))
    assert few.redact([TOKEN, "a", "b"]) == [MASK, "a", TOO_LARGE]
    small = Secrets(TOKEN, limits=RedactionLimits(bytes=40))
    assert small.redact(["x" * 50]) == TOO_LARGE
    assert small.redact_text("x" * 50) == TOO_LARGE
    assert Secrets(patterns=[SecretPattern("zzz")], limits=RedactionLimits(bytes=40)).redact(["x" * 30, "y" * 30]) == [
        "x" * 30,
        TOO_LARGE,
    ]
    loop: list[Any] = [TOKEN]
    loop.append(loop)
    assert TOKEN not in repr(secrets.redact(loop))


def test_patterns_find_what_nobody_registered() -> None:
    secrets = Secrets(patterns=[SecretPattern(r"sk-[a-z0-9]{8,}"), SecretPattern(re.compile("(?i)(?<=password=)\\S+"))])

    assert secrets.redact({"say": "use sk-abcd1234 and PASSWORD=hunter2!", "n": 1}) == {
        "say": f"use {MASK} and PASSWORD={MASK}",
        "n": 1,
    }


def test_many_registrations_at_once_are_all_known() -> None:
    secrets = Secrets()
    names = [f"token-{index:03d}-{thread}x" for thread in range(4) for index in range(50)]

    def register(mine: list[str]) -> None:
        for name in mine:
            secrets.register(name)
            assert secrets.redact_text(name) == MASK

    threads = [Thread(target=register, args=(names[start::4],)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(secrets.redact_text(name) == MASK for name in names)


def test_nothing_shows_or_takes_away_what_is_known(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secrets = Secrets(TOKEN, patterns=[SecretPattern("sk-[a-z]{8}")])
    secrets.redact({"x": TOKEN})

    assert repr(secrets) == str(secrets) == "Secrets(1 value, 1 pattern)"
    assert not hasattr(secrets, "__dict__")
    assert caplog.text == ""
    for take in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            take(secrets)


def test_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", TOKEN)
    monkeypatch.setenv("EMPTY", "")

    assert repr(Secrets.from_environment("A_KEY", "EMPTY", "NOT_THERE")) == "Secrets(1 value, 0 patterns)"


# --- values of the framework's ------------------------------------------------------------------------------------


@attrs.frozen
class Part:
    text: str = attrs.field(validator=attrs.validators.max_len(14))
    _private: str = ""


@attrs.frozen
class Whole:
    parts: tuple[Part, ...]
    extra: dict[str, Any] = attrs.field(factory=dict)
    raw: bytes = b""


@dataclasses.dataclass(frozen=True)
class Data:
    text: str


@tagged("It is {text}.")
class Tagged:
    text: str


Pair = namedtuple("Pair", "a b")


def test_attrs_values_are_copied_where_something_is_hidden_past_their_validators() -> None:
    secrets = Secrets(TOKEN)
    clean = Part("nothing")
    whole = Whole((clean, Part(TOKEN, f"p {TOKEN}")), {"k": Pair(1, TOKEN)}, b"\xff" + TOKEN.encode())

    out = secrets.redact_in(whole)

    assert out.parts[0] is clean
    assert out.parts[1].text == MASK
    assert out.parts[1]._private == f"p {MASK}"
    assert out.extra == {"k": Pair(1, MASK)}
    assert isinstance(out.extra["k"], Pair)
    assert out.raw == b"\xff" + MASK.encode()
    assert whole.parts[1].text == TOKEN
    assert secrets.redact_in(out) is out


def test_other_containers_and_errors() -> None:
    secrets = Secrets(TOKEN)
    thing = object()

    assert str(secrets.redact_in(Tagged(TOKEN))) == f"It is {MASK}."
    assert secrets.redact_in(Data(TOKEN)) == Data(MASK)
    assert secrets.redact_in({TOKEN, "a"}) == {MASK, "a"}
    assert secrets.redact_in(frozenset({TOKEN})) == frozenset({MASK})
    assert secrets.redact_in(thing) is thing
    assert secrets.redact_in(Part) is Part
    assert secrets.redact_in(TOKEN.encode()) == MASK.encode()


# --- streams ------------------------------------------------------------------------------------------------------


def test_a_stream_holds_back_no_more_than_it_must() -> None:
    redactor = StreamRedactor(Secrets("Zq-token-of-some-length"))

    assert redactor.feed("plain words are let through. ") == "plain words are let through. "
    assert redactor.feed("Zq-tok") == ""
    assert redactor.feed("ay, no") == "Zq-tokay, no"
    assert redactor.feed("Zq-token-of-some-") == ""
    assert redactor.feed("length!") == f"{MASK}!"
    assert redactor.end() == ""


def test_a_secret_that_is_registered_while_a_text_streams_is_found_from_then_on() -> None:
    secrets = Secrets()
    redactor = StreamRedactor(secrets)

    assert redactor.feed(f"{TOKEN} ") == f"{TOKEN} "
    secrets.register(TOKEN)
    assert redactor.feed(f"and {TOKEN[:5]}") + redactor.feed(TOKEN[5:]) + redactor.end() == f"and {MASK}"


def test_what_was_held_back_is_let_out_at_the_end_and_the_redactor_starts_anew() -> None:
    redactor = StreamRedactor(Secrets(TOKEN))

    assert (redactor.feed(TOKEN[:-1]), redactor.end()) == ("", TOKEN[:-1])
    assert redactor.feed(TOKEN[-1]) + redactor.end() == TOKEN[-1]


def test_the_beginning_of_a_longer_secret_hides_nothing_of_a_shorter_one() -> None:
    secrets = Secrets("abcdef", "abcdefghij")
    redactor = StreamRedactor(secrets)

    out = [redactor.feed(one) for one in "xabcdefghZabcdefghij"] + [redactor.end()]

    assert "".join(out) == secrets.redact_text("xabcdefghZabcdefghij") == f"x{MASK}ghZ{MASK}"


def test_overlapping_secrets_that_come_in_pieces_are_one_mask() -> None:
    secrets = Secrets("aaaaab", "aaabaa")
    redactor = StreamRedactor(secrets)

    out = [redactor.feed(one) for one in "xaaaaabaa!aaaaab"] + [redactor.end()]

    assert "".join(out) == secrets.redact_text("xaaaaabaa!aaaaab") == f"x{MASK}!{MASK}"
    assert out.count(MASK) == 2
    assert out.index(MASK) == 6  # told as soon as the first of them is there


def test_what_a_pattern_has_found_is_not_found_again_in_what_is_kept_for_it() -> None:
    secrets = Secrets("value-of-a-key", patterns=[SecretPattern(r"(?<=key=)\w{4,}", longest=8)])
    redactor = StreamRedactor(secrets)
    text = "key=abcd then key=efgh; value-of-a-key and key=no"

    out = [redactor.feed(one) for one in text] + [redactor.end()]

    assert "".join(out) == secrets.redact_text(text) == f"key={MASK} then key={MASK}; {MASK} and key=no"
