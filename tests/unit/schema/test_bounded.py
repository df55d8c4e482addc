"""Schemas of those who are not trusted: each keyword, each draft, and what is refused while it is read."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from returns.result import Failure, Success

from lamina.schema import BoundedSchema
from lamina.schema._bounded import _expression

D4 = "http://json-schema.org/draft-04/schema#"
D7 = "http://json-schema.org/draft-07/schema#"
D2019 = "https://json-schema.org/draft/2019-09/schema"
WORK = ("$: the schema asks for more work than a value of this size may cost",)


def fits(schema: dict[str, Any], value: Any) -> bool:
    return not BoundedSchema.read(schema).unwrap().problems(value)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, [1, 1.0], [1.5, True, "1"]),
        ({"type": ["string", "null"]}, ["", None], [1]),
        ({"$schema": D4, "type": "integer"}, [1], [1.0]),
        ({"enum": ["a", "b"]}, ["a"], ["c", 1]),
        ({"enum": [1, {"a": [2.0]}, False]}, [1.0, {"a": [2]}, False], [True, 0, {"a": [2, 3]}]),
        ({"const": {"a": 1, "b": "1"}}, [{"b": "1", "a": 1}], [{"a": 1, "b": 1}]),
        ({"multipleOf": 0.1}, [0.3, 1, "x"], [0.35]),
        ({"multipleOf": 2}, [4], [5]),
        ({"minimum": 1, "exclusiveMaximum": 3}, [1, 2.9, "0"], [0.9, 3]),
        ({"exclusiveMinimum": 1, "maximum": 3}, [3], [1, 4]),
        ({"$schema": D4, "minimum": 1, "exclusiveMinimum": True}, [2], [1]),
        ({"minLength": 1, "maxLength": 2}, ["a", "éé", 5], ["", "abc"]),
        ({"minItems": 1, "maxItems": 2}, [[1]], [[], [1, 2, 3]]),
        ({"minProperties": 1, "maxProperties": 1}, [{"a": 1}], [{}, {"a": 1, "b": 2}]),
        ({"uniqueItems": True}, [[1, True, "1", [1], {"a": 1}]], [[1, 1.0], [{"a": [1]}, {"a": [1.0]}]]),
        ({"uniqueItems": False}, [[1, 1]], []),
        ({"required": ["a"]}, [{"a": None}, []], [{}]),
        ({"dependentRequired": {"a": ["b"]}}, [{"b": 1}, {"a": 1, "b": 2}], [{"a": 1}]),
        ({"properties": {"a": {"type": "string"}, "b": False}}, [{"a": ""}, 5], [{"a": 1}, {"b": 1}]),
        ({"patternProperties": {"^x-": {"type": "string"}}}, [{"y": 1, "x-a": ""}], [{"x-a": 1}]),
        (
            {"properties": {"a": {}}, "patternProperties": {"^x": {}}, "additionalProperties": False},
            [{"a": 1, "xx": 1}],
            [{"b": 1}],
        ),
        ({"properties": {"a": {}}, "additionalProperties": {"type": "string"}}, [{"a": 1, "b": ""}], [{"b": 1}]),
        ({"propertyNames": {"maxLength": 1}}, [{"a": 1}], [{"ab": 1}]),
        ({"dependentSchemas": {"a": {"required": ["b"]}}}, [{"b": 1}], [{"a": 1}]),
        ({"$schema": D7, "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}, [{"a": 1, "b": 1}], [{"c": 1}]),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, [["a", 1], []], [["a", "b"], [1]]),
        ({"$schema": D7, "items": [{"type": "string"}], "additionalItems": False}, [["a"]], [["a", 1], [1]]),
        ({"contains": {"const": 1}, "minContains": 2, "maxContains": 3}, [[1, 1]], [[1], [1, 1, 1, 1]]),
        ({"contains": {"const": 1}}, [[0, 1]], [[0], []]),
        ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, [1], [0, 3]),
        ({"anyOf": [{"type": "string"}, {"minimum": 5}]}, ["a", 5], [4]),
        ({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}, [2, 3], [6, 1]),
        ({"not": {"type": "string"}}, [1], ["a"]),
        ({"if": {"type": "string"}, "then": {"maxLength": 1}, "else": {"minimum": 2}}, ["a", 2], ["ab", 1]),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, [None], [1]),
        ({"$ref": "#here", "$defs": {"a": {"$anchor": "here", "type": "null"}}}, [None], [1]),
        ({"$ref": "other", "$defs": {"a": {"$id": "other", "$ref": "#/$defs/b", "$defs": {"b": False}}}}, [], [1]),
        (
            {
                "$id": "http://x/top/",
                "allOf": [{"$ref": "sub/"}, {"$ref": "#/$defs/a"}],
                "$defs": {"a": {"$id": "sub/", "$ref": "it"}, "b": {"$id": "sub/it", "type": "null"}},
            },
            [None],
            [1],
        ),
        ({"items": {"$ref": "#"}, "type": "array"}, [[[], [[]]]], [[1]]),
        ({"$schema": D7, "$ref": "#/definitions/a", "maximum": 1, "definitions": {"a": {}}}, [5], []),
        ({"$dynamicRef": "#a", "$defs": {"a": {"$dynamicAnchor": "a", "type": "null"}}}, [None], [1]),
        ({"$schema": D2019, "items": {"$recursiveRef": "#"}, "type": "array"}, [[[]]], [[1]]),
        (
            {"allOf": [{"properties": {"a": {}}}], "anyOf": [{"required": ["a"]}], "unevaluatedProperties": False},
            [{"a": 1}],
            [{"a": 1, "b": 1}],
        ),
        (
            {"if": {"prefixItems": [{"const": 1}]}, "else": {"items": {}}, "unevaluatedItems": {"type": "string"}},
            [[1, "a"], [2, 3]],
            [[1, 2]],
        ),
        (
            {
                "oneOf": [{"dependentSchemas": {"a": {"patternProperties": {"^b": {}}}}, "additionalProperties": {}}],
                "unevaluatedProperties": False,
            },
            [{"a": 1, "c": 2}],
            [],
        ),
        ({"pattern": "^a$"}, ["a", 1], ["a\n", "ba"]),
        ({"format": "email", "contentEncoding": "base64"}, ["no address"], []),
    ],
)
def test_keywords(schema: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if not fits(schema, value)] == []
    assert [value for value in bad if fits(schema, value)] == []


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "nothing"}, "at $.type it is no valid JSON Schema"),
        ({"properties": {"a b": {"minLength": -1}}}, "at $.properties['a b'].minLength it is no valid JSON Schema"),
        ({"properties": []}, "at $.properties it is no valid JSON Schema"),
        ({"items": [{}]}, "at $.items it is no valid JSON Schema"),
        ({"anyOf": []}, "at $.anyOf it is no valid JSON Schema"),
        ({"required": "a"}, "at $.required it is no valid JSON Schema"),
        ({"multipleOf": 0}, "at $.multipleOf it is no valid JSON Schema"),
        ({"pattern": 5}, "at $.pattern it is no valid JSON Schema"),
        ({"uniqueItems": 1}, "at $.uniqueItems it is no valid JSON Schema"),
        ({"enum": "a"}, "at $.enum it is no valid JSON Schema"),
        ({"minimum": "1"}, "at $.minimum it is no valid JSON Schema"),
        ({"not": 5}, "at $.not it is no valid JSON Schema"),
        ({"$schema": D4, "exclusiveMinimum": 1}, "at $.exclusiveMinimum it is no valid JSON Schema"),
        ({"contains": {}, "minContains": 0.5}, "at $.contains it is no valid JSON Schema"),
        ({"dependentRequired": ["a"]}, "at $.dependentRequired it is no valid JSON Schema"),
        ({"$schema": D7, "dependencies": 1}, "at $.dependencies it is no valid JSON Schema"),
        ({"$ref": "#/nowhere"}, "at $['$ref'] it leads nowhere, or out of the schema"),
        ({"$ref": "https://example.com/other"}, "at $['$ref'] it leads nowhere, or out of the schema"),
        ({"$ref": "http://[broken"}, "at $['$ref'] it leads nowhere, or out of the schema"),
        ({"$id": "http://a/", "not": {"$id": "http://[b"}}, "an $id in it is no address"),
        (
            {"$id": "http://x", "$ref": "#/a", "a": {"$id": "http://[b"}},
            "at $['$ref'] it leads nowhere, or out of the schema",
        ),
        ({"$ref": "#/other", "other": {"$id": "http://x/", "$ref": "#/a", "a": {}}}, "at $['$ref']['$ref'] it leads"),
        ({"$id": "http://x/" + "a" * 600}, "an $id in it is no address, or has more than 512 characters"),
        ({"$ref": 5}, "at $['$ref'] it is no valid JSON Schema"),
        (
            {"$dynamicRef": "#a", "$defs": {"a": {"$dynamicAnchor": "a"}, "b": {"$id": "b", "$dynamicAnchor": "a"}}},
            "at $['$dynamicRef'] it leads nowhere, or out of the schema",
        ),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "at $.$schema it names a draft that is too old"),
        ({"maximum": float("nan")}, "it is no JSON, or nested too deeply"),
    ],
)
def test_what_is_refused_while_it_is_read(schema: dict[str, Any], why: str) -> None:
    read = BoundedSchema.read(schema)
    assert isinstance(read, Failure)
    assert read.failure()[0].startswith(why)


def test_at_most_eight_reasons_are_told() -> None:
    read = BoundedSchema.read({"allOf": [{"type": "nothing"}] * 3 + [{"type": str(n)} for n in range(30)]})
    assert isinstance(read, Failure)
    assert len(read.failure()) == 8


def test_problems_tell_where_and_quote_nothing() -> None:
    schema = BoundedSchema.read(
        {"properties": {"a": {"items": {"type": "integer"}}, "it's": {"const": 1}}, "required": ["b"]}
    ).unwrap()
    assert schema.problems({"a": [1, "secret"], "it's": "secret"}) == (
        "$.a[1]: does not fit the schema's type",
        "$[\"it's\"]: does not fit the schema's const",
        "$: does not fit the schema's required",
    )
    assert len(schema.problems({"a": ["x"] * 100})) == 32


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (r"^(a+)+$", ["aaa"], ["aab"]),
        (r"a{2,3}?b", ["aab"], ["ab"]),
        (r"^.$", ["é", "\U0001f600"], ["\n", "\u2028", ""]),
        (r"^\s\S$", ["\ufeffa", "\u3000a"], ["aa", "\u3000\u3000"]),
        (r"^[\S]$", ["a"], ["\u00a0"]),
        (r"^[^\s\d]$", ["a"], ["1", " "]),
        (r"^\d\w\D\W$", ["1aa-"], ["\u0661aa-", "1éa-"]),
        (r"^\u00e9\x41\cA\0\t\/\-$", ["éA\x01\0\t/-"], ["e"]),
        (r"^\u{1f600}\ud83d\ude00$", ["\U0001f600\U0001f600"], ["x"]),
        (r"^[\u0061-c\b\-\]]+$", ["abc\x08-]"], ["d"]),
        (r"^[\w-]+[+-]$", ["a-b-"], ["a b-"]),
        (r"^[^]$", ["a", "\n"], ["", "ab"]),
        (r"[]", [], ["", "a"]),
        (r"^[[:alpha:]]$", [":]", "a]"], ["z]", "b"]),
        (r"^(?<year>\d{4})-(\d\d)$", ["2026-01"], ["26-01"]),
        (r"^\p{Lu}\p{Script=Greek}\P{L}\p{Lowercase_Letter}$", ["ÉΩ1é"], ["éΩ1é"]),
        (r"^a{$|^}{,2}]$", ["a{", "}{,2}]"], ["a"]),
        (r"\bfoo\b", ["a foo b"], ["food"]),
    ],
)
def test_expressions_mean_what_they_mean_in_ecmascript(pattern: str, good: list[str], bad: list[str]) -> None:
    schema = BoundedSchema.read({"pattern": pattern}).unwrap()
    assert schema.unapplied == ()
    assert [text for text in good if schema.problems(text)] == []
    assert [text for text in bad if not schema.problems(text)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"(?=a)", r"(?!a)b", r"(?<=a)b", r"(?<!a)b", r"(a)\1", r"(?<n>a)\k<n>", r"(?i)a", r"(?P<n>a)", r"\Aa\Z"),
        *(
            r"(",
            r")",
            r"[",
            r"a\\"[:2],
            r"a**",
            r"[b-a]",
            r"\ud83d",
            r"\p{Nothing}",
            r"\p",
            r"a{1001}",
            r"(?<1>a)",
            r"\c1",
        ),
        *("a" * 5_000, r"\p{L}" * 800, r"\u{110000}", "\ud800"[:0] + r"[\B]"),
    ],
)
def test_an_expression_that_cannot_be_applied_is_left_out_and_told(pattern: str) -> None:
    schema = BoundedSchema.read({"properties": {"a": {"pattern": pattern}}}).unwrap()
    assert schema.unapplied == ("$.properties.a.pattern",)
    assert schema.problems({"a": "anything"}) == ()


@pytest.mark.parametrize(
    "inside",
    [
        lambda schema: {"not": schema},
        lambda schema: {"oneOf": [schema, {}]},
        lambda schema: {"if": schema, "then": False},
        lambda schema: {"contains": schema},
        lambda schema: {"not": {"$ref": "#/$defs/a"}, "allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": schema}},
        lambda schema: {"patternProperties": {schema["pattern"]: {}}},
        lambda schema: {"patternProperties": {schema["pattern"]: {}}, "additionalProperties": False},
    ],
)
def test_it_is_refused_where_leaving_it_out_could_refuse_what_fits(inside: Any) -> None:
    read = BoundedSchema.read(inside({"pattern": "(?=a)"}))
    assert isinstance(read, Failure)
    assert "its expression cannot be applied in bounded time, and cannot be left out" in read.failure()[0]


def test_without_the_package_no_expression_is_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    schema = BoundedSchema.read({"pattern": "^a$"}).unwrap()
    assert (schema.unapplied, schema.problems("b")) == (("$.pattern",), ())


def test_all_the_expressions_of_a_schema_have_a_bound_together() -> None:
    schema = BoundedSchema.read({"allOf": [{"pattern": "a" * 999 + str(n)} for n in range(100)]}).unwrap()
    assert len(schema.unapplied) == 64
    assert schema.problems("b") == ("$: does not fit the schema's pattern",) * 8


def test_a_text_that_the_slowest_way_would_take_too_long_over_is_refused() -> None:
    schema = BoundedSchema.read({"pattern": "(?:a?){1000}b"}).unwrap()
    assert schema.problems("b") == ()
    assert schema.problems("a" * 100_000) == WORK


def test_what_has_no_end_is_refused() -> None:
    assert BoundedSchema.read({"$ref": "#"}).unwrap().problems(1) == WORK
    chain: dict[str, Any] = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(3_000)}
    schema = BoundedSchema.read({"$ref": "#/$defs/a0", "$defs": {**chain, "a3000": {}}})
    assert isinstance(schema, Success)
    assert schema.unwrap().problems(1) == WORK


def test_a_schema_of_too_many_parts_is_refused() -> None:
    assert BoundedSchema.read({"allOf": [{} for _ in range(20_001)]}) == Failure(("it has more than 20000 parts",))


def test_how_large_an_expression_is_counts_as_the_most_where_it_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain:
        @staticmethod
        def search(data: bytes) -> object:
            return data

    import re2

    monkeypatch.setattr(re2, "compile", lambda pattern, options: Plain)
    found = _expression.expression_of("a")
    assert found is not None
    assert found._size == _expression._LARGEST
