"""The four records that every turn has, written at once: canonical JSON without a value in between (behaviour §6).

Each function gives what the codec would give, or None for what is not plainly what its class declares, or holds what
has an order of its own; that is left to the codec, which says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, TypeAlias, get_args

from lamina.call import CallKey, ExecutionClass, ToolSuccess
from lamina.conversation._json import LONGEST_TEXT
from lamina.conversation._records import CallStarted, ResponseDeclared, ResultSettled, TurnAdvanced
from lamina.model import AssistantMessage, Text, ToolCall, Usage

text: Callable[[str], str] = encode_basestring
"""Write a JSON text, other characters than ASCII as they are. It takes nothing but texts."""

name = lru_cache(maxsize=512)(text)
"""The same for one that comes again and again."""

_EXECUTIONS = frozenset(get_args(ExecutionClass))
_LEAST, _MOST = -(2**63), 2**63 - 1


Quick: TypeAlias = tuple[str, int, str, str]
"""A record as it is written: its run and turn, its id, and its canonical JSON."""


def _advanced(record: TurnAdvanced) -> Quick | None:
    run, turn = record.run, record.turn
    if type(turn) is not int:
        return None
    return run, turn, f"advanced:{run}/{turn}", f'{{"run":{name(run)},"turn":{turn}}}'


def _started(record: CallStarted) -> Quick | None:
    key, by, asked = record.key, record.approved_by, record.approval_id
    if type(key) is not CallKey or type(key.turn) is not int or record.execution not in _EXECUTIONS:
        return None
    run, turn, call = key.run, key.turn, key.call
    payload = (
        f'{{"approval_id":{"null" if asked is None else text(asked)},'
        f'"approved_by":{"null" if by is None else text(by)},'
        f'"arguments_digest":{text(record.arguments_digest)},"execution":"{record.execution}",'
        f'"key":{{"call":{text(call)},"run":{name(run)},"turn":{turn}}}}}'
    )
    return run, turn, f"started:{run}/{turn}/{call}", payload


def _settled(record: ResultSettled) -> Quick | None:
    key, outcome = record.key, record.outcome
    if type(outcome) is not ToolSuccess or type(key) is not CallKey or type(key.turn) is not int:
        return None
    value: Any = outcome.value  # Any: as what it is looked at; `cast` is a call
    kind: object = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is str and len(value) <= LONGEST_TEXT:
        written = text(value)
    elif kind is int and _LEAST <= value <= _MOST:
        written = str(value)
    elif value is None or kind is bool:
        written = "null" if value is None else "true" if value else "false"
    else:
        return None
    run, turn, call = key.run, key.turn, key.call
    payload = (
        f'{{"key":{{"call":{text(call)},"run":{name(run)},"turn":{turn}}},'
        f'"outcome":{{"_tag":"ToolSuccess","value":{written}}}}}'
    )
    return run, turn, f"settled:{run}/{turn}/{call}", payload


def _declared(record: ResponseDeclared) -> Quick | None:
    run, turn, message, usage, readonly = record.run, record.turn, record.message, record.usage, record.readonly
    if type(turn) is not int or type(message) is not AssistantMessage or type(readonly) is not tuple:
        return None
    parts: list[str] = []
    part: Any  # Any: one of the classes that it is asked for
    for part in message.parts:
        kind: object = type(part)  # pyright: ignore[reportUnknownVariableType]
        if kind is ToolCall:
            if part.executor != "application":
                return None
            parts.append(
                f'{{"_tag":"ToolCall","arguments":{text(part.arguments)},"id":{text(part.id)},"name":{name(part.name)}}}'
            )
        elif kind is Text:
            parts.append(f'{{"_tag":"Text","text":{text(part.text)}}}')
        else:
            return None
        if part.metadata:
            return None
    spent = "" if usage is None else _usage(usage)
    if spent is None:
        return None
    ids = f'"readonly":[{",".join([text(call) for call in readonly])}],' if readonly else ""
    payload = f'{{"parts":[{",".join(parts)}],{ids}"run":{name(run)},"turn":{turn}{spent}}}'
    return run, turn, f"declared:{run}/{turn}", payload


def _usage(usage: Usage) -> str | None:
    given, made = usage.input_tokens, usage.output_tokens
    if type(usage) is not Usage or type(given) is not int or type(made) is not int:
        return None
    if usage.cache_read_tokens or usage.cache_write_tokens or usage.reasoning_tokens:
        return None
    return f',"usage":{{"input_tokens":{given},"output_tokens":{made}}}'


QUICK: Mapping[type[object], Callable[[Any], Quick | None]] = {
    TurnAdvanced: _advanced,
    CallStarted: _started,
    ResultSettled: _settled,
    ResponseDeclared: _declared,
}
"""By kind, what writes a record. A `TypeError` leaves it to the codec, too."""
