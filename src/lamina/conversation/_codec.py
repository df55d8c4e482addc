"""Records ⇄ what a store keeps of them: kind, version and canonical JSON (STORE-005, STORE-006)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import attrs
from returns.result import Failure

from lamina.call import CallKey
from lamina.conversation._ids import check_id, stored_id
from lamina.conversation._json import (
    LARGEST_RECORD,
    Malformed,
    Refused,
    dump,
    dump_as_given,
    load,
    members,
    number,
    opaque,
    text,
    texts,
)
from lamina.conversation._outcomes import read_outcome, write_outcome
from lamina.conversation._parts import read_message, read_usage, write_message, write_usage
from lamina.conversation._records import (
    InputRecorded,
    Record,
    ResponseDeclared,
    ResultSettled,
    RunSuspended,
)
from lamina.effect import Value
from lamina.schema import Codec, codec

VERSION = 1
"""The form of every record in this release."""


@attrs.define(eq=False, repr=False)  # not frozen: one is made for each record, and that takes half as long
class Written(Value):
    """A record as a store keeps it.

    Attributes:
        id: Its id, in the form that every database keeps.
        kind: Its class.
        payload: Its JSON, as it is kept.
        canonical: The same as canonical JSON: what digests and comparisons are of.
        record: The record itself.
    """

    id: str
    kind: str
    payload: bytes
    canonical: bytes
    record: Record


def write_record(record: Record) -> Written:
    """Give the stored form of a record.

    Raises:
        Refused: It holds what no record can, or is too large.

    Example:
        >>> from lamina.conversation import TurnAdvanced
        >>> write_record(TurnAdvanced("run-1", 2)).payload
        b'{"run":"run-1","turn":2}'
    """
    kind = type(record)
    write = _WRITERS.get(kind)
    if write is None:
        raise Refused("it is of an unknown kind")
    value = write(record)
    canonical, payload = dump(value), dump_as_given(value)
    if len(payload) > LARGEST_RECORD:
        raise Refused(f"it has more than {LARGEST_RECORD} bytes")
    return Written(stored_id(record.id), kind.__name__, payload, canonical, record)


def knows(kind: str, version: int) -> bool:
    """Say whether this release reads records of a kind and version."""
    return version == VERSION and kind in _READERS


def read_record(kind: str, payload: bytes) -> Record:
    """Make a record of its stored form, strictly.

    Raises:
        Malformed: It is none of that kind.
    """
    return read_value(kind, load(payload))


def read_value(kind: str, value: object) -> Record:
    """Make a record of its stored form, of which the JSON was read before.

    Raises:
        Malformed: It is none of that kind.
    """
    return _READERS[kind](value)


# --- the few that hold more than plain fields -------------------------------------------------------------------------


def _write_key(key: CallKey) -> dict[str, Any]:
    return {"run": key.run, "turn": key.turn, "call": key.call}


def _read_key(value: object) -> CallKey:
    given = members(value, ("run", "turn", "call"))
    return CallKey(text(given["run"]), number(given["turn"]), text(given["call"]))


def _write_declared(record: ResponseDeclared) -> dict[str, Any]:
    made: dict[str, Any] = {"run": record.run, "turn": record.turn, "parts": write_message(record.message)}
    if record.usage is not None:
        made["usage"] = write_usage(record.usage)
    if record.readonly:
        made["readonly"] = list(record.readonly)
    return made


def _read_declared(value: object) -> ResponseDeclared:
    given = members(value, ("run", "turn", "parts"), ("usage", "readonly"))
    usage = given.get("usage")
    return ResponseDeclared(
        text(given["run"]),
        number(given["turn"]),
        read_message(given["parts"]),
        None if usage is None else read_usage(usage),
        texts(given.get("readonly", [])),
    )


def _write_settled(record: ResultSettled) -> dict[str, Any]:
    return {"key": _write_key(record.key), "outcome": write_outcome(record.outcome)}


def _read_settled(value: object) -> ResultSettled:
    given = members(value, ("key", "outcome"))
    return ResultSettled(_read_key(given["key"]), read_outcome(given["outcome"]))


def _write_suspended(record: RunSuspended) -> dict[str, Any]:
    return {"run": record.run, "turn": record.turn, "state": opaque(record.state), "nth": record.nth}


def _read_suspended(value: object) -> RunSuspended:
    given = members(value, ("run", "turn", "state", "nth"))
    return RunSuspended(text(given["run"]), number(given["turn"]), given["state"], number(given["nth"]))


def _write_input(record: InputRecorded) -> Any:
    if (wrong := check_id("input", record.input_id)) is not None:
        raise Refused(wrong.why)
    return _write_plain(record)


# --- all others, by their fields --------------------------------------------------------------------------------------


def _write_plain(record: Record) -> Any:
    encoded = _plain(type(record)).encode(record)
    if isinstance(encoded, Failure):
        raise Refused("a field is not what its kind declares")
    return encoded.unwrap()


_CODECS: dict[type[Record], Codec[Record]] = {}


def _plain(kind: type[Record]) -> Codec[Record]:
    made = _CODECS.get(kind)
    if made is None:  # made when it is needed, and asked for only once: `codec` looks by the text of its type
        made = _CODECS[kind] = codec(kind)
    return made


def _reader(kind: type[Record]) -> Callable[[object], Record]:
    def read(value: object) -> Record:
        decoded = _plain(kind).decode(value)
        if isinstance(decoded, Failure):
            raise Malformed
        return decoded.unwrap()

    return read


_KINDS: tuple[type[Record], ...] = get_args(Record)
_WRITERS: dict[type[object], Callable[[Any], Any]] = {
    **dict.fromkeys(_KINDS, _write_plain),
    InputRecorded: _write_input,
    ResponseDeclared: _write_declared,
    ResultSettled: _write_settled,
    RunSuspended: _write_suspended,
}
_READERS: dict[str, Callable[[object], Record]] = {
    **{kind.__name__: _reader(kind) for kind in _KINDS},
    ResponseDeclared.__name__: _read_declared,
    ResultSettled.__name__: _read_settled,
    RunSuspended.__name__: _read_suspended,
}
