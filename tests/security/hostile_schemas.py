"""Schemas that mean harm, each with a value: a program of its own, so that one that wins ends nothing else.

It prints a line of JSON for each: its name, the seconds of CPU that reading and applying took, and what came of it.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

from returns.result import Failure

from lamina.schema import BoundedSchema, inline_defs

SECONDS = 10
"""Of CPU for one case; then the system ends the program."""
LONG = "a" * 1_000_000
SHORT = "a" * 40


def chain(how: str, last: Any) -> dict[str, Any]:
    """Refer to the next, twice each time: 2**60 ways to the last."""
    made: dict[str, Any] = {}
    for n in range(60):
        following = {"$ref": f"#/$defs/a{n + 1}"}
        both = {"a": following, "b": following} if how == "dependentSchemas" else [following, following]
        made[f"a{n}"] = {how: both}
    return {"$ref": "#/$defs/a0", "$defs": {**made, "a60": last}}


def cases() -> Iterator[tuple[str, dict[str, Any], Any]]:
    yield "pattern, nested", {"pattern": "^(a+)+$"}, SHORT + "!"
    yield "pattern, nested, long", {"pattern": "^(a+)+$"}, LONG + "!"
    yield "pattern, alternatives", {"pattern": "^(a|a)*$"}, SHORT + "!"
    yield "pattern, alternatives of one kind", {"pattern": "^(a|aa)+$"}, LONG + "!"
    yield "pattern, three stars", {"pattern": "(.*)*(.*)*(.*)*b"}, LONG
    yield "pattern, refers back", {"pattern": r"^(a+)+\1$"}, SHORT + "!"
    yield "pattern, looks ahead", {"pattern": "^(?=(a+)+$)"}, SHORT + "!"
    yield "pattern, counted", {"pattern": "(?:a?){1000}b"}, LONG
    yield "pattern, counted, many texts", {"items": {"pattern": "(?:a?){200}b"}}, ["a" * 2_000] * 500
    yield "pattern, many states", {"pattern": "(?:a|b)*a(?:a|b){900}c"}, "ab" * 400_000
    yield "pattern, counted twice", {"pattern": "(?:(?:a{1,100}){1,100}){1,100}b"}, LONG
    yield "pattern, large", {"pattern": r"\p{L}" * 10_000}, LONG
    yield "pattern, many", {"allOf": [{"pattern": r"\p{L}" * 20 + str(n)} for n in range(500)]}, LONG
    yield "pattern, deep", {"pattern": "(" * 30_000 + ")" * 30_000}, LONG
    yield "patternProperties", {"patternProperties": {"^(a+)+$": {}}}, {SHORT + "!": 1}
    many = {f"^a*{n}$": {} for n in range(900)}
    yield "patternProperties, many", {"patternProperties": many}, {f"aaaaaaaaaaaa{n}": 1 for n in range(40_000)}
    yield "propertyNames", {"propertyNames": {"pattern": "^(a+)+$"}}, {SHORT + "!": 1}
    yield "format", {"format": "regex", "type": "string"}, "(" * 100_000
    yield "format of an address", {"format": "uri"}, "http://" + "a." * 100_000
    yield "uniqueItems", {"uniqueItems": True}, list(range(100_000))
    yield "uniqueItems, objects", {"uniqueItems": True}, [{"a": [n, {"b": n}]} for n in range(30_000)]
    yield "uniqueItems, one hash", {"uniqueItems": True}, [n * (2**61 - 1) for n in range(50_000)]
    yield "uniqueItems, long", {"uniqueItems": True}, ["a" * 10_000 + str(n) for n in range(100)]
    deep: Any = [[n] for n in range(1_000)]
    for _ in range(55):
        deep = [deep]
    every = {"$ref": "#/$defs/a", "$defs": {"a": {"uniqueItems": True, "items": {"$ref": "#/$defs/a"}}}}
    yield "uniqueItems, at each level", every, deep
    yield "$ref to itself", {"$ref": "#"}, 1
    circle = {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}
    yield "$ref in a circle", {"$ref": "#/$defs/a", "$defs": circle}, 1
    line = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(2_500)}
    yield "$ref, a long chain", {"$ref": "#/$defs/a0", "$defs": {**line, "a2500": {}}}, 1
    yield "$ref, long pointers", {"allOf": [{"$ref": "#/" + f"{n}/" * 200} for n in range(100)]}, 1
    ids = {f"d{n}": {"$id": f"http://x/{n}", "$anchor": "q"} for n in range(1_000)}
    yield "$id, many", {"$defs": ids, "items": {"$ref": "http://x/999#q"}}, [1] * 100_000
    long = "http://x/" + "a/" * 15_000
    yield "$id, long", {"$id": long, "$defs": {f"d{n}": {"$id": "b"} for n in range(3_000)}}, 1
    yield "$ref, from a long $id", {"$id": long, "allOf": [{"$ref": "b"} for _ in range(3_000)]}, 1
    short = "http://x/" + "a/" * 240
    near = {"$id": short, "$defs": {f"d{n}": {"$id": f"b{n}"} for n in range(2_000)}}
    yield "$id and $ref, many", {**near, "allOf": [{"$ref": f"b{n}"} for n in range(2_000)]}, 1
    for how, last in (("anyOf", False), ("allOf", {}), ("oneOf", False)):
        yield f"{how}, 2**60 ways", chain(how, last), 1
    yield "dependentSchemas, 2**60 ways", chain("dependentSchemas", {}), {"a": 1, "b": 1}
    hidden = {"properties": {"x": {"unevaluatedProperties": False, "$ref": "#/$defs/a0"}}}
    yield "unevaluatedProperties", {**hidden, "$defs": chain("dependentSchemas", {})["$defs"]}, {"x": {"a": 1, "b": 1}}
    yield "unevaluatedItems", {"unevaluatedItems": False, **chain("anyOf", {})}, [1]
    yield "not, 2**60 ways", {"not": chain("allOf", {}), "$defs": chain("allOf", {})["$defs"]}, 1
    yield "anyOf, wide", {"items": {"anyOf": [{"type": "null"}] * 4_000}}, list(range(100_000))
    yield "enum, huge", {"items": {"enum": [*range(9_000), {}]}}, list(range(9_000)) * 20
    yield "enum, huge values", {"items": {"enum": [[["a"] * 100] * 50]}}, [[["a"] * 100] * 50] * 40
    yield "const, huge", {"items": {"const": [[[1]]] * 5_000}}, [[[[1]]] * 5_000] * 20
    yield "properties, many", {"items": {"properties": {f"a{n}": {} for n in range(6_000)}}}, [{}] * 300_000
    yield "required, many", {"items": {"required": [f"a{n}" for n in range(6_000)]}}, [{}] * 300_000
    yield "contains in contains", {"contains": {"contains": {"contains": {"const": 1}}}}, [[[0] * 50] * 50] * 50
    yield "multipleOf", {"items": {"multipleOf": 1e-300}}, [1e300] * 50_000
    yield "numbers, huge", {"items": {"multipleOf": 7}}, [10**300] * 3_000
    yield "parts, many", {"properties": {f"a{n}": {"items": {}} for n in range(9_000)}}, {}
    yield "parts, too many", {"allOf": [{} for _ in range(30_000)]}, {}
    yield "long names", {"properties": {"k" * 30_000: {"properties": {f"a{n}": 5 for n in range(1_000)}}}}, 1


def main() -> None:
    for name, schema, value in cases():
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        began = time.process_time()
        read = BoundedSchema.read(schema)
        read_at = time.process_time()
        result = [] if isinstance(read, Failure) else list(read.unwrap().problems(value))
        applied_at = time.process_time()
        inline_defs(schema)
        told = {
            "name": name,
            "read": read_at - began,
            "apply": applied_at - read_at,
            "inline": time.process_time() - applied_at,
            "refused": list(read.failure()) if isinstance(read, Failure) else None,
            "problems": result,
            "unapplied": [] if isinstance(read, Failure) else list(read.unwrap().unapplied),
        }
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
