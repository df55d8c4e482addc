"""One exposed message, compiled: everything that a dispatch asks of it (behaviour §1.1)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, get_args

import attrs

from lamina.approval import Ask
from lamina.call import Capability, ExecutionClass
from lamina.contract._completion import Completion, MessageCompletion, StateCompletion
from lamina.contract._messages import NAME, default_name, how_else
from lamina.contract._projection import Reading
from lamina.effect import ConstructionError, Problem, Where, caller_where, name_of
from lamina.schema import Codec, JsonValue, codec

Predicate: TypeAlias = Callable[[Any], object]  # Any: a variant's types are erased once it is compiled
_STATUS: dict[str, JsonValue] = {"type": "string", "enum": ["completed", "failed"]}


@attrs.frozen(kw_only=True, eq=False)
class Variant:
    """A message that agents may send.

    Attributes:
        name: What agents call it.
        tag: The message's class name.
        description: What agents read.
        message: The message's class.
        input_type: The class of its input: the message's own, or an external one.
        input: The input's codec.
        to_message: Makes the message of an input; None where the input is the message.
        made: The codec that a made message is held to; None where the input is the message.
        available: Whether it is offered in a model; None is always.
        authorize: Whether an attempt may go on; None is always.
        completion: What ends the operation; None where sending is all.
        reading: For a completion on a projection, that projection, ready to be read.
        completing: The codecs of the messages that end it.
        ask: What a person is shown, where somebody has to say yes.
        where: Where it was exposed.
        capability: It, as a surface shows it.
    """

    name: str
    tag: str
    description: str
    message: type[Any]
    input_type: type[Any]
    input: Codec[Any]
    to_message: Callable[[Any, Any], Any] | None
    made: Codec[Any] | None
    available: Predicate | None
    authorize: Predicate | None
    completion: Completion[Any, Any] | None
    reading: Reading | None
    completing: dict[type[Any], Codec[Any]]
    ask: Ask[Any] | None
    where: Where
    capability: Capability

    @property
    def execution(self) -> ExecutionClass:
        """What doing it twice would do."""
        return self.capability.execution


def compile_variant(
    model: type[Any],
    union: tuple[type, ...],
    message: type[Any],
    description: str,
    *,
    name: str | None = None,
    input: type[Any] | None = None,  # noqa: A002 - the contract's own word
    to_message: Callable[[Any, Any], Any] | None = None,
    available: Predicate | None = None,
    authorize: Predicate | None = None,
    completion: Completion[Any, Any] | None = None,
    execution: ExecutionClass = "uncertain",
    needs_approval: bool = False,
    approval: Ask[Any] | None = None,
) -> Variant:
    """Check a variant by itself, and compile it.

    Raises:
        ConstructionError: With the first of its mistakes, in the order of behaviour §1.1.
    """
    where = caller_where()
    tag = getattr(message, "__name__", repr(message))
    if message not in union:
        raise _refused(tag, where, f'Cannot expose "{tag}": it is not a variant of this Message union')
    if input is not None and to_message is None:
        raise _refused(tag, where, f'Cannot expose "{tag}": "input" was provided without "to_message"')
    if to_message is not None and input is None:
        raise _refused(tag, where, f'Cannot expose "{tag}": "to_message" was provided without "input"')
    public = default_name(tag) if name is None else name
    if not isinstance(public, str) or not NAME.fullmatch(public):  # pyright: ignore[reportUnnecessaryIsInstance] - past the types
        raise _refused(
            tag,
            where,
            f'Cannot expose "{tag}": "name" is not a valid capability name. Use 1-128 characters of [a-zA-Z0-9_-].',
            write='name="…"' if name is None else None,
        )
    own = list(_own_mistakes(description, available, execution, needs_approval=needs_approval, approval=approval))
    for called, given in (("available", available), ("authorize", authorize), ("to_message", to_message)):
        if given is not None and not callable(given):  # pyright: ignore[reportUnnecessaryComparison] - past the types
            own.append(f"{called} is a function")
    if inspect.iscoroutinefunction(to_message):
        own.append("to_message is a plain function of the input and the snapshot")
    if completion is not None and not isinstance(completion, MessageCompletion | StateCompletion):
        own.append("completion is made by completes(…) or when(…)")
    if input is not None and not (isinstance(input, type) and attrs.has(input)):  # pyright: ignore[reportUnnecessaryIsInstance] - past the types
        own.append(f"its input, {name_of(input)}, is no attrs class{how_else(input)}")
    if own:
        raise _refused(tag, where, *(f'Cannot expose "{public}": {line}' for line in own))
    completing = _completing(public, union, completion, where)
    reading = None
    if isinstance(completion, StateCompletion) and completion.projection is not None:
        reading = completion.projection.reading(model)
    taken = message if input is None else input
    decoder = _described(taken, f'the input of "{public}"', where)
    conditional, authorized = available is not None, authorize is not None
    return Variant(
        name=public,
        tag=tag,
        description=description,
        message=message,
        input_type=taken,
        input=decoder,
        to_message=to_message,
        made=None if to_message is None else _described(message, f'the message of "{public}"', where),
        available=available,
        authorize=authorize,
        completion=completion,
        reading=reading,
        completing=completing,
        ask=(approval or Ask()) if needs_approval else None,
        where=where,
        capability=Capability(
            name=public,
            description=description,
            input_schema=decoder.json_schema,
            output_schema=_output_schema(public, tag, completion, completing),
            execution=execution,
            conditional=conditional,
            authorized=authorized,
            needs_approval=needs_approval,
            tag=tag,
        ),
    )


def _own_mistakes(
    description: object,
    available: object,
    execution: object,
    *,
    needs_approval: bool,
    approval: object,
) -> Iterator[str]:
    if not isinstance(description, str) or not description.strip():
        yield "its description is empty"
    if inspect.iscoroutinefunction(available):
        yield "available is a plain function of the model; what has to be awaited belongs into authorize"
    if execution not in get_args(ExecutionClass):
        yield f"execution is one of {', '.join(get_args(ExecutionClass))}"
    if approval is not None and not needs_approval:
        yield "approval= is given without needs_approval=True"


def _completing(
    name: str, union: tuple[type, ...], completion: Completion[Any, Any] | None, where: Where
) -> dict[type[Any], Codec[Any]]:
    if not isinstance(completion, MessageCompletion):
        return {}
    if not completion.success:
        raise _refused(name, where, f'Cannot expose "{name}": its completion contract names no success Message')
    lines: list[str] = []
    for one in completion.success:
        if one in completion.failure:
            lines.append(f'Cannot expose "{name}": "{one.__name__}" is both a success and a failure Message')
    for one in (*completion.success, *completion.failure):
        if one not in union:
            lines.append(f'Cannot expose "{name}": "{name_of(one)}" is not a variant of this Message union')
    if lines:
        raise _refused(name, where, *lines)
    return {
        one: _described(one, f'"{one.__name__}", which ends "{name}"', where)
        for one in (*completion.success, *completion.failure)
    }


def _output_schema(
    name: str, tag: str, completion: Completion[Any, Any] | None, completing: dict[type[Any], Codec[Any]]
) -> dict[str, JsonValue]:
    properties: dict[str, JsonValue] = {
        "capability": {"type": "string", "const": name},
        "tag": {"type": "string", "const": tag},
    }
    required: list[JsonValue] = ["capability", "tag"]
    if completion is not None:
        ended: dict[str, JsonValue] = {"status": _STATUS}
        if completing:
            tags: list[JsonValue] = [one.__name__ for one in completing]
            ended["message"] = {
                "type": "object",
                "properties": {"_tag": {"type": "string", "enum": tags}},
                "required": ["_tag"],
            }
        properties["completion"] = {
            "type": "object",
            "properties": ended,
            "required": list(ended),
            "additionalProperties": False,
        }
        required.append("completion")
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _described(hint: type[Any], subject: str, where: Where) -> Codec[Any]:
    try:
        return codec(hint)
    except ConstructionError as error:
        raise ConstructionError(
            attrs.evolve(problem, lines=(f"{subject}  {where}", *problem.lines)) for problem in error.problems
        ) from None


def _refused(subject: str, where: Where, *lines: str, write: str | None = None) -> ConstructionError:
    return ConstructionError([Problem("VARIANT", subject, (*lines, str(where)), write)])
