"""A contract as plain data, and as a page: introspection, the manifest, the Markdown (behaviour §1.5)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import attrs

from lamina.contract._completion import Completion, MessageCompletion
from lamina.contract._exposed import Exposed
from lamina.contract._variant import Variant
from lamina.effect import Value
from lamina.schema import JsonValue


@attrs.frozen(kw_only=True, eq=False, repr=False)
class CompletionInfo(Value):
    """What ends an operation, as data.

    Attributes:
        kind: A message or a state.
        success: The tags that end it well.
        failure: The tags that end it badly.
        observes: The paths of the model that a state is read from; none where it is read outside.
        timeout: Seconds that it may take.
    """

    kind: Literal["message", "state"]
    success: tuple[str, ...] = ()
    failure: tuple[str, ...] = ()
    observes: tuple[str, ...] = ()
    timeout: float


@attrs.frozen(kw_only=True, eq=False, repr=False)
class MessageInfo(Value):
    """An exposed message, as data.

    Attributes:
        name: What agents call it.
        tag: Its class name.
        description: What agents read.
        input_schema: JSON Schema of its input.
        model_dependent: Whether it comes and goes with the model.
        requires_authorization: Whether attempts are authorized.
        completion: What ends it; None where sending is all.
    """

    name: str
    tag: str
    description: str
    input_schema: Mapping[str, JsonValue] = attrs.field(hash=False)
    model_dependent: bool
    requires_authorization: bool
    completion: CompletionInfo | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Wiring(Value):
    """What a contract touches of its application, for whoever checks how modules are put together.

    Attributes:
        kind: Always `agent`.
        name: `agent:` and the contract's name.
        observes: The paths of the model that agents may see through it.
        exposes: The tags of the messages that agents may send.
    """

    kind: Literal["agent"] = "agent"
    name: str
    observes: tuple[str, ...]
    exposes: tuple[str, ...]


def message_infos(contract: Exposed[Any]) -> tuple[MessageInfo, ...]:
    """Give what is exposed."""
    return tuple(
        MessageInfo(
            name=one.name,
            tag=one.tag,
            description=one.description,
            input_schema=one.capability.input_schema,
            model_dependent=one.capability.conditional,
            requires_authorization=one.capability.authorized,
            completion=_completion_info(one, one.completion),
        )
        for one in contract.variants
    )


def wiring(contract: Exposed[Any]) -> Wiring:
    """Give the paths and the tags, each once."""
    readings = [
        contract.context,
        *(one.reading for one in contract.declared),
        *(one.reading for one in contract.variants),
    ]
    paths = [path for reading in readings if reading is not None for path in reading.paths]
    return Wiring(
        name=f"agent:{contract.name}",
        observes=tuple(dict.fromkeys(paths)),
        exposes=tuple(dict.fromkeys(one.tag for one in contract.variants)),
    )


def manifest(contract: Exposed[Any]) -> dict[str, JsonValue]:
    """Give the contract as JSON; parts that are not there are left out."""
    made: dict[str, JsonValue] = {
        "capabilities": [_capability(one) for one in message_infos(contract)],
        "resources": [
            {"name": one.name, "description": one.description, "schema": dict(one.reading.codec.json_schema)}
            for one in contract.declared
        ],
    }
    if contract.context is not None:
        made["context"] = dict(contract.context.codec.json_schema)
    return made


def manifest_json(contract: Exposed[Any]) -> str:
    """Write the manifest, indented, with a line break at the end."""
    return json.dumps(manifest(contract), indent=2, ensure_ascii=False) + "\n"


def _capability(info: MessageInfo) -> dict[str, JsonValue]:
    made: dict[str, JsonValue] = {
        "name": info.name,
        "tag": info.tag,
        "description": info.description,
        "inputSchema": dict(info.input_schema),
        "modelDependent": info.model_dependent,
        "requiresAuthorization": info.requires_authorization,
    }
    ended = info.completion
    if ended is not None and ended.kind == "message":
        made["completion"] = {"kind": "message", "success": list(ended.success)}
        if ended.failure:
            made["completion"] = {"kind": "message", "success": list(ended.success), "failure": list(ended.failure)}
    elif ended is not None:
        made["completion"] = {"kind": "state", "observes": list(ended.observes)}
    return made


def _completion_info(variant: Variant, completion: Completion[Any, Any] | None) -> CompletionInfo | None:
    if completion is None:
        return None
    if isinstance(completion, MessageCompletion):
        return CompletionInfo(
            kind="message",
            success=tuple(one.__name__ for one in completion.success),
            failure=tuple(one.__name__ for one in completion.failure),
            timeout=completion.timeout,
        )
    observes = () if variant.reading is None else variant.reading.paths
    return CompletionInfo(kind="state", observes=observes, timeout=completion.timeout)


def markdown(contract: Exposed[Any]) -> str:
    """Write the page."""
    return "\n".join(_lines(contract)).rstrip("\n") + "\n"


def _lines(contract: Exposed[Any]) -> Iterator[str]:
    infos = message_infos(contract)
    yield from ("# Agent contract", "", "## Capabilities", "")
    if not infos:
        yield from ("This contract exposes no capabilities.", "")
    else:
        yield "| Name | Message | Description | Model-dependent | Authorized |"
        yield "|---|---|---|---|---|"
        for one in infos:
            cells = (f"`{one.name}`", f"`{one.tag}`", _cell(one.description))
            yield f"| {' | '.join(cells)} | {_yes(one.model_dependent)} | {_yes(one.requires_authorization)} |"
        yield ""
    for one in infos:
        yield from _section(one)
    if contract.declared:
        yield from ("## Resources", "", "| Name | Description |", "|---|---|")
        for resource in contract.declared:
            yield f"| `{resource.name}` | {_cell(resource.description)} |"
        yield ""
        for resource in contract.declared:
            yield from (f"### `{resource.name}`", "", *_fence(resource.reading.codec.json_schema), "")
    yield from ("## Context", "")
    if contract.context is None:
        yield "This contract projects no context."
    else:
        yield from _fence(contract.context.codec.json_schema)


def _section(info: MessageInfo) -> Iterator[str]:
    yield from (f"### `{info.name}`", "", info.description, "")
    if info.model_dependent:
        yield from ("Availability varies with the Model.", "")
    if info.requires_authorization:
        yield from ("Authorization runs before the Message is sent.", "")
    yield from (*_fence(info.input_schema), "")
    ended = info.completion
    if ended is None:
        return
    if ended.kind == "state":
        at = f" at {', '.join(f'`{path}`' for path in ended.observes)}" if ended.observes else ""
        yield f"Completes when its declared state holds{at}, within {ended.timeout:g}s."
    else:
        failing = f", fails on {_tags(ended.failure)}" if ended.failure else ""
        yield f"Completes on {_tags(ended.success)}{failing}, within {ended.timeout:g}s."
    yield ""


def _tags(tags: tuple[str, ...]) -> str:
    return " or ".join(f"`{tag}`" for tag in tags)


def _fence(schema: Mapping[str, JsonValue]) -> Iterator[str]:
    yield from ("```json", json.dumps(schema, indent=2, ensure_ascii=False), "```")


def _cell(text: str) -> str:
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"
