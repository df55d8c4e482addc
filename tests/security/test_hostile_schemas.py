"""What a schema of a server's may cost: each hostile one is read and applied in seconds, in a program of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.security.hostile_schemas import cases

HERE = Path(__file__).parent
NAMES = [name for name, _, _ in cases()]
READ, APPLY, INLINE = 1.0, 4.0, 2.0
"""Seconds of CPU; a machine of 2026 takes a tenth to a third of it."""
REFUSED = {*("$id, long", "$ref, from a long $id"), "$ref, long pointers", "parts, too many", "long names"}
UNAPPLIED = {
    *("pattern, refers back", "pattern, looks ahead", "pattern, large", "pattern, counted twice", "pattern, deep"),
    "pattern, many",
}


@cache
def results() -> dict[str, dict[str, Any]]:
    ran = subprocess.run(
        [sys.executable, str(HERE / "hostile_schemas.py")], capture_output=True, text=True, timeout=45, check=False
    )
    told = [json.loads(line) for line in ran.stdout.splitlines()]
    missing = NAMES[len(told)] if len(told) < len(NAMES) else None
    assert missing is None, f"{missing}: ended with {ran.returncode}\n{ran.stderr[-2000:]}"
    return {each["name"]: each for each in told}


@pytest.mark.parametrize("name", NAMES)
def test_it_takes_seconds_at_most(name: str) -> None:
    result = results()[name]
    assert result["read"] < READ
    assert result["apply"] < APPLY
    assert result["inline"] < INLINE
    assert (result["refused"] is not None) == (name in REFUSED)
    assert bool(result["unapplied"]) == (name in UNAPPLIED)


def test_a_server_cannot_stall_us_with_what_it_says_of_its_tools() -> None:
    """Through the whole client, over the SDK: neither applies the server's expressions in unbounded time."""
    ran = subprocess.run(
        [sys.executable, str(HERE / "hostile_client.py")], capture_output=True, text=True, timeout=45, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert json.loads(ran.stdout) == {
        "tools": ["arguments", "value", "unsaid", "promised"],
        "refused": {
            "negated": "its input schema: at $.properties.a.not.pattern its expression cannot be applied in bounded "
            "time, and cannot be left out"
        },
        "unapplied": {"unsaid": ["input $.properties.a.pattern", "output $.properties.a.pattern"]},
        "called by a script": {
            "value": "McpMisbehaved",
            "promised": "McpMisbehaved",
            "unsaid": {"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"},
        },
        "called by an agent": {
            "far__arguments": "ToolInvalidInput $.a: does not fit the schema's pattern",
            "far__value": "McpMisbehaved",
            "far__unsaid": {"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"},
        },
    }
