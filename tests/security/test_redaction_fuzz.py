"""A value that is registered as a secret is in nothing that redaction lets out, however it stands in what came in."""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import orjson
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lamina.redaction import MASK, SecretPattern, Secrets, StreamRedactor, forms_of, shape

# No bracket: a secret that begins with one may come about where the mask and what follows it meet.
LETTERS = st.characters(codec="utf-8", exclude_characters="[]", exclude_categories=["Cs"])
SECRETS = (
    st.one_of(
        st.text(LETTERS, min_size=6, max_size=40),
        st.text("abc", min_size=6, max_size=12),
        st.text('ab"\\/\n é+', min_size=6, max_size=20),
    )
    .map(str.strip)
    .filter(lambda value: len(value) >= 6 and len(set(value)) > 1 and not any(one in MASK for one in forms_of(value)))
)
TEXTS = st.text(LETTERS, max_size=30)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)
WRITTEN: dict[str, Callable[[str], str]] = {
    "plain": lambda value: value,
    "json": lambda value: json.dumps(value, ensure_ascii=False),
    "json-ascii": json.dumps,
    "json-in-json": lambda value: json.dumps(json.dumps({"key": value})),
    "orjson": lambda value: orjson.dumps(value).decode(),
    "slashes": lambda value: json.dumps(value).replace("/", "\\/"),
    "quote": quote,
    "component": lambda value: quote(value, safe="!'()*~"),
    "plus": quote_plus,
    "lower": lambda value: re.sub("%..", lambda match: match[0].lower(), quote(value, safe="")),
    "base64": lambda value: b64encode(value.encode()).decode(),
    "urlsafe": lambda value: urlsafe_b64encode(value.encode()).decode().rstrip("="),
}


def put(draw: Any, value: Any, text: str) -> Any:
    """Put a text somewhere into a JSON value: inside a string, as a key, into a list, or in its place."""
    place = draw(st.sampled_from(["in", "around", "key", "list", "deep"]))
    if place == "in" and isinstance(value, str):
        cut = draw(st.integers(0, len(value)))
        return value[:cut] + text + value[cut:]
    if place == "key":
        return {f"{draw(TEXTS)}{text}": value}
    if place == "list":
        return [value, text, value]
    if place == "deep":
        return {"a": [[{"b": text}], value]}
    return f"{draw(TEXTS)}{text}{draw(TEXTS)}"


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [found for key, one in value.items() for found in (key, *strings(one))]
    if isinstance(value, list):
        return [found for one in value for found in strings(one)]
    return [value] if isinstance(value, str) else [repr(value)]


@given(st.data(), st.lists(SECRETS, min_size=1, max_size=4), JSON, st.sampled_from(sorted(WRITTEN)))
def test_no_secret_is_left_in_a_json_value(data: st.DataObject, values: list[str], json_value: Any, how: str) -> None:
    secrets = Secrets(*values)
    value = put(data.draw, json_value, WRITTEN[how](values[0]))

    out = secrets.redact(value)

    every = strings(out)
    assert any(MASK in one for one in every)
    for secret in values:
        assert not any(form in one for form in forms_of(secret) for one in every)
    assert secrets.redact(out) is out
    assert secrets.redact_in((value,))[0] == out


@given(st.lists(SECRETS, min_size=1, max_size=4), JSON)
def test_what_holds_no_secret_is_the_same_object(values: list[str], value: Any) -> None:
    every = strings(value)
    assume(not any(form in one for secret in values for form in forms_of(secret) for one in every))

    assert Secrets(*values).redact(value) is value
    assert Secrets().redact(value) is value


@given(st.lists(SECRETS, min_size=1, max_size=4), st.lists(TEXTS, max_size=4), st.data())
def test_known_values_are_found_as_a_plain_search_finds_them(
    values: list[str], between: list[str], data: st.DataObject
) -> None:
    pieces = [piece for text in between for piece in (text, data.draw(st.sampled_from(values)))]
    text = "".join(pieces)
    covered = [False] * len(text)
    for form in {form for value in values for form in forms_of(value)}:
        at = text.find(form)
        while at >= 0:
            covered[at : at + len(form)] = [True] * len(form)
            at = text.find(form, at + 1)

    out = Secrets(*values).redact_text(text)

    assert "".join(out.split(MASK)) == "".join(one for one, hidden in zip(text, covered, strict=True) if not hidden)


@given(st.lists(SECRETS, min_size=1, max_size=3), st.lists(TEXTS, min_size=1, max_size=5), st.data())
@example(["aaaaab", "aaabaa"], ["aaaa", "x"], None)
def test_a_stream_lets_out_what_the_whole_text_is(
    values: list[str], between: list[str], data: st.DataObject | None
) -> None:
    secrets = Secrets(*values)
    how = WRITTEN[data.draw(st.sampled_from(sorted(WRITTEN)))] if data else WRITTEN["plain"]
    text = "".join(piece for one in between for piece in (one, how(values[0])))
    redactor = StreamRedactor(secrets)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12))) if data else range(len(text))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    out = [*(redactor.feed(piece) for piece in pieces), redactor.end()]

    assert "".join(out) == secrets.redact_text(text)


@given(st.lists(st.text("ab", min_size=6, max_size=9), min_size=1, max_size=4), st.text("ab", max_size=40), st.data())
def test_secrets_that_overlap_in_a_stream_are_hidden_whole(values: list[str], text: str, data: st.DataObject) -> None:
    secrets = Secrets(*(value for value in values if len(set(value)) > 1))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    redactor = StreamRedactor(secrets)

    out = [redactor.feed(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    assert "".join([*out, redactor.end()]) == secrets.redact_text(text)


@given(st.lists(st.text("sk-x1 ", max_size=20), max_size=8), st.data())
def test_a_stream_hides_what_a_pattern_finds(between: list[str], data: st.DataObject) -> None:
    secrets = Secrets(patterns=[SecretPattern(r"(?<=sk-)[x1]{4,8}(?![x1])", longest=12)])
    text = "".join(between)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    redactor = StreamRedactor(secrets)

    out = "".join(
        [*(redactor.feed(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)), redactor.end()]
    )

    assert out == secrets.redact_text(text)


@given(JSON, st.text("0123456789abcdef", min_size=12, max_size=12))
def test_a_shape_says_nothing_and_is_small(value: Any, canary: str) -> None:
    out = shape([value, canary, {canary: {canary: [canary]}}])

    text = orjson.dumps(out).decode()
    assert canary not in text
    assert len(text) <= 8_192
    kept = "[REDACTED:"
    assert all(one.startswith(kept) for one in strings(out) if one not in ("None",) and not one.isdigit())


@pytest.mark.parametrize("how", sorted(WRITTEN))
def test_each_form_is_found_at_each_place(how: str) -> None:
    value = 's3cr3t/"é" +x'
    secrets = Secrets(value)

    for before in range(9):
        text = "·" * before + WRITTEN[how](value) + "."
        assert MASK in secrets.redact_text(text), text


@pytest.mark.parametrize("before", range(7))
@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
def test_base64_of_something_around_it_is_found(before: int, encode: Callable[[bytes], bytes]) -> None:
    secrets = Secrets("Zq9?>~s3cr3t")
    text = encode(b"user:pw"[:before] + b"Zq9?>~s3cr3t" + b"@host/path").decode()

    assert MASK in secrets.redact_text(text)
