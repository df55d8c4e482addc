"""One law: a schema applied in bounded time accepts the JSON that the package `jsonschema` accepts."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema.validators import validator_for
from returns.result import Success

from lamina.schema import BoundedSchema

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "ab", "1"]), st.just(1.0))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
DRAFTS = st.sampled_from(
    [
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-06/schema#",
    ]
)
TYPES = ["null", "boolean", "string", "number", "integer", "array", "object"]
PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
    "enum": st.lists(VALUES, min_size=1, max_size=3),
    "const": VALUES,
    "minimum": st.integers(-2, 2),
    "exclusiveMaximum": st.integers(-2, 2),
    "multipleOf": st.integers(1, 3),
    "minLength": st.integers(0, 2),
    "pattern": st.sampled_from(["^a", "b$", "[ab]{2}"]),
    "maxItems": st.integers(0, 2),
    "uniqueItems": st.booleans(),
    "required": st.lists(NAMES, max_size=2, unique=True),
    "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
    "minProperties": st.integers(0, 2),
    "$ref": st.just("#/$defs/it"),
}


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    members = st.dictionaries(NAMES, inner, max_size=2)
    keywords: dict[str, st.SearchStrategy[Any]] = {
        **PLAIN,
        **dict.fromkeys(("properties", "dependentSchemas"), members),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "[bc]"]), inner, max_size=2),
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), some),
        **dict.fromkeys(
            (
                *("additionalProperties", "propertyNames", "contains", "not", "if", "then", "else", "items"),
                *("unevaluatedItems", "unevaluatedProperties"),
            ),
            inner,
        ),
    }
    return st.lists(st.sampled_from(sorted(keywords)), max_size=4, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: keywords[name] for name in names})
    )


SCHEMAS = st.recursive(
    st.booleans() | st.sampled_from(sorted(PLAIN)).flatmap(lambda name: st.fixed_dictionaries({name: PLAIN[name]})),
    nested,
    max_leaves=8,
)


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    schema=nested(SCHEMAS),
    it=SCHEMAS.filter(lambda schema: "$ref" not in str(schema)),
    draft=DRAFTS,
    values=st.lists(VALUES, min_size=1, max_size=6),
)
def test_both_accept_the_same(schema: dict[str, Any], it: Any, draft: str, values: list[Any]) -> None:
    # Of what is not evaluated, `jsonschema` takes the older draft's words for the newer one's, and the other way round.
    assume(draft.endswith("2020-12/schema") or "unevaluated" not in str((schema, it)))
    whole = {"$schema": draft, **schema, "$defs": {"it": it}}
    kind = validator_for(whole)
    kind.check_schema(whole)
    read = BoundedSchema.read(whole)
    assert isinstance(read, Success), read
    for value in values:
        assert (read.unwrap().problems(value) == ()) == kind(whole).is_valid(value), (whole, value)
