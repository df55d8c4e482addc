"""What a surface offers besides capabilities: resources to read, and prompts to begin with, as functions."""

from __future__ import annotations

import base64
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import islice
from types import UnionType
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin
from urllib.parse import unquote

import attrs
from returns.result import Failure

from lamina.call import (
    Caller,
    CallerFeature,
    Prompt,
    PromptArgument,
    PromptMessage,
    ResourceContent,
    ResourceInfo,
    TextContent,
)
from lamina.effect import ConstructionError, Need, Problem, Where, resolved_hints, where_of
from lamina.schema import Codec, codec

Completion: TypeAlias = Sequence[str] | Callable[[str], Iterable[str] | Awaitable[Iterable[str]]]
"""What an argument may be: all of it, or a function of what was typed."""
Function: TypeAlias = Callable[..., Awaitable[Any]]  # Any: read from its annotation
_MOST_COMPLETIONS = 1_000
_KINDS: dict[object, str] = {
    str: "text/plain",
    bytes: "application/octet-stream",
    ResourceContent: "application/octet-stream",
}
_BRACES = re.compile(r"\{(\w+)\}")


@attrs.frozen(eq=False, kw_only=True)
class OfferedResource:
    """A resource, or a template of resources; made by `@resource(...)`.

    Attributes:
        info: What is told of it.
        needs: The services of the function.
        where: Where it was written.
    """

    info: ResourceInfo
    needs: tuple[Need, ...]
    where: Where
    fn: Function = attrs.field(repr=False)
    parameters: tuple[str, ...] = attrs.field(repr=False)
    completions: Mapping[str, Completion] = attrs.field(repr=False)
    pattern: re.Pattern[str] = attrs.field(repr=False)
    written: Codec[Any] | None = attrs.field(repr=False)

    def match(self, uri: str) -> dict[str, str] | None:
        """Give the parameters that a uri has for this one; None where it is another's."""
        found = self.pattern.fullmatch(uri)
        return None if found is None else {name: unquote(text) for name, text in found.groupdict().items()}

    def content(self, uri: str, value: object) -> ResourceContent | None:
        """Give what was read as content; None where there is nothing of that uri.

        Raises:
            TypeError: The function gave something that it does not declare.
        """
        if value is None:
            return None
        if isinstance(value, ResourceContent):
            return value
        kind = self.info.media_type
        if isinstance(value, bytes):
            return ResourceContent(uri=uri, media_type=kind, blob=base64.b64encode(value).decode())
        if self.written is None:
            if not isinstance(value, str):
                raise TypeError("a resource gave something that it does not declare")
            return ResourceContent(uri=uri, media_type=kind, text=value)
        encoded = self.written.encode_json(value)
        if isinstance(encoded, Failure):
            raise TypeError("a resource gave something that it does not declare")
        return ResourceContent(uri=uri, media_type=kind, text=encoded.unwrap().decode())


@attrs.frozen(eq=False, kw_only=True)
class OfferedPrompt:
    """A prompt; made by `@prompt(...)`.

    Attributes:
        info: What is told of it.
        needs: The services of the function.
        where: Where it was written.
    """

    info: Prompt
    needs: tuple[Need, ...]
    where: Where
    fn: Function = attrs.field(repr=False)
    completions: Mapping[str, Completion] = attrs.field(repr=False)


def resource(
    uri: str,
    *,
    name: str | None = None,
    title: str = "",
    description: str | None = None,
    media_type: str | None = None,
    complete: Mapping[str, Completion] | None = None,
) -> Callable[[Function], OfferedResource]:
    """Offer what a function gives as a resource of a surface.

    Parameters that stand in the uri in braces make it a template, and are texts; every other parameter is a service.
    `str` is text, `bytes` is bytes, `ResourceContent` is itself, and any other type is JSON by its schema. None says
    that there is no such resource.

    Args:
        uri: What it is called, like `app://stock` or `app://item/{sku}`.
        name: Its name; the function's without it.
        title: What people call it.
        description: What it is; the function's docstring without it.
        media_type: Of the content; by the type without it.
        complete: What a parameter of the template may be.

    Raises:
        ConstructionError: The signature cannot be read.

    Example:
        >>> @resource("app://item/{sku}", complete={"sku": ("tea", "oil")})
        ... async def item(sku: str) -> str | None:
        ...     '''One item.'''
        ...     return None if sku not in ("tea", "oil") else f"{sku}: in store"
        >>> item.info.uri, item.match("app://item/tea")
        ('app://item/{sku}', {'sku': 'tea'})
    """

    def declare(fn: Function) -> OfferedResource:
        where, label = where_of(fn), name or str(getattr(fn, "__name__", "resource"))
        hints, lines = resolved_hints(fn), _problems(fn)
        parameters = tuple(_BRACES.findall(uri))
        taken = inspect.signature(fn).parameters
        lines += [f"it has no parameter {each}, which its uri names" for each in parameters if each not in taken]
        lines += [
            f"parameter {each} is a text" for each in parameters if each in taken and not _choices(hints.get(each))[0]
        ]
        given, answer = hints.get("return"), None
        if given is None:
            lines.append("the return annotation is missing")
        else:
            answer = _without_none(given)
        if lines:
            raise ConstructionError([Problem("SIGNATURE", f"resource {label}", (str(where), *lines))])
        kind = _KINDS.get(answer)
        written = codec(answer) if kind is None else None
        info = ResourceInfo(
            name=label,
            uri=uri,
            description=_described(fn) if description is None else description,
            media_type=media_type or kind or "application/json",
            schema=None if written is None else written.json_schema,
            title=title,
        )
        chosen = {each: _choices(hints.get(each))[1] for each in parameters}
        return OfferedResource(
            info=info,
            needs=tuple(Need(each, _bare(hints[each])) for each in taken if each not in parameters),
            where=where,
            fn=fn,
            parameters=parameters,
            completions={**{each: values for each, values in chosen.items() if values}, **(complete or {})},
            pattern=_pattern(uri),
            written=written,
        )

    return declare


def prompt(
    *,
    name: str | None = None,
    title: str = "",
    description: str | None = None,
    complete: Mapping[str, Completion] | None = None,
    asks: tuple[CallerFeature, ...] | None = None,
) -> Callable[[Function], OfferedPrompt]:
    """Offer what a function writes as a prompt of a surface.

    Parameters that are texts, or a `Literal` of texts, are its arguments; every other one is a service. It gives one
    text, or the messages, or a `PromptRefused` that says why there is none.

    Args:
        name: Its name; the function's without it.
        title: What people call it.
        description: What it is for; the function's docstring without it.
        complete: What an argument may be, beyond what a `Literal` says.
        asks: What it asks its `Caller` for; progress and log, where it takes one and nothing is said.

    Raises:
        ConstructionError: The signature cannot be read.

    Example:
        >>> @prompt()
        ... async def review(code: str, tone: Literal["kind", "short"] = "kind") -> str:
        ...     '''Review a piece of code.'''
        ...     return f"Review this, and be {tone}: {code}"
        >>> [(each.name, each.required, each.values) for each in review.info.arguments]
        [('code', True, ()), ('tone', False, ('kind', 'short'))]
    """

    def declare(fn: Function) -> OfferedPrompt:
        where, label = where_of(fn), name or str(getattr(fn, "__name__", "prompt"))
        hints, lines = resolved_hints(fn), _problems(fn)
        if lines:
            raise ConstructionError([Problem("SIGNATURE", f"prompt {label}", (str(where), *lines))])
        arguments: list[PromptArgument] = []
        needs: list[Need] = []
        for each in inspect.signature(fn).parameters.values():
            text, values = _choices(hints[each.name])
            if text:
                said = _doc_of(hints[each.name])
                required = each.default is each.empty
                arguments.append(PromptArgument(name=each.name, description=said, required=required, values=values))
            else:
                needs.append(Need(each.name, _bare(hints[each.name])))
        about = _described(fn) if description is None else description
        chosen = {each.name: each.values for each in arguments if each.values}
        takes = any(need.key is Caller for need in needs)
        if asks and not takes:
            line = f"it asks its caller for {', '.join(sorted(asks))}, and takes none  {where}"
            raise ConstructionError([Problem("CALLER", f"prompt {label}", (line,), "a parameter `caller: Caller`")])
        asked: tuple[CallerFeature, ...] = asks if asks is not None else ("progress", "log") if takes else ()
        return OfferedPrompt(
            info=Prompt(name=label, description=about, arguments=tuple(arguments), title=title, asks=frozenset(asked)),
            needs=tuple(needs),
            where=where,
            fn=fn,
            completions={**chosen, **(complete or {})},
        )

    return declare


def messages_of(value: object) -> tuple[PromptMessage, ...]:
    """Give what a prompt's function wrote as messages.

    Raises:
        TypeError: It is neither a text nor messages.
    """
    if isinstance(value, str):
        return (PromptMessage("user", TextContent(value)),)
    if isinstance(value, PromptMessage):
        return (value,)
    if isinstance(value, Sequence):
        written = tuple(cast("Sequence[object]", value))
        messages = tuple(each for each in written if isinstance(each, PromptMessage))
        if len(messages) == len(written):
            return messages
    raise TypeError("a prompt gives a text, or messages")


async def completed(completions: Mapping[str, Completion], argument: str, begun: str) -> tuple[str, ...]:
    """Give values that an argument may have and that begin so: as many as anybody can use, and a function's no more."""
    source = completions.get(argument)
    if source is None:
        return ()
    if callable(source):
        answer = source(begun)
        given = await answer if inspect.isawaitable(answer) else answer
        found = [str(each) for each in islice(given, _MOST_COMPLETIONS)]
    else:
        found = [each for each in source if each.lower().startswith(begun.lower())]
    return tuple(found[:_MOST_COMPLETIONS])


def _problems(fn: Function) -> list[str]:
    lines: list[str] = []
    if not inspect.iscoroutinefunction(fn):
        lines.append("it is `async def`; blocking work goes through anyio.to_thread.run_sync")
    hints = resolved_hints(fn)
    for each in inspect.signature(fn).parameters.values():
        if each.name not in hints:
            lines.append(f"parameter {each.name} has no annotation")
        elif each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            lines.append(f"parameter {each.name} cannot be given by its name")
    return lines


def _choices(hint: object) -> tuple[bool, tuple[str, ...]]:
    """Tell whether an annotation is a text, and which texts it allows."""
    bare = _without_none(hint)
    if bare is str:
        return True, ()
    if get_origin(bare) is Literal:
        values = get_args(bare)
        if all(isinstance(each, str) for each in values):
            return True, values
    return False, ()


def _without_none(hint: object) -> object:
    bare = _bare(hint)
    if get_origin(bare) in (Union, UnionType):
        rest = [each for each in get_args(bare) if each is not type(None)]
        return rest[0] if len(rest) == 1 else bare
    return bare


def _bare(hint: object) -> object:
    extras = getattr(hint, "__metadata__", None)
    return hint if extras is None else get_args(hint)[0]


def _doc_of(hint: object) -> str:
    extras = cast("tuple[object, ...]", getattr(hint, "__metadata__", ()))
    return next((str(getattr(each, "documentation")) for each in extras if hasattr(each, "documentation")), "")  # noqa: B009 - a Doc's, whichever


def _described(fn: Function) -> str:
    return " ".join((inspect.getdoc(fn) or "").split("\n\n", 1)[0].split())


def _pattern(uri: str) -> re.Pattern[str]:
    parts: list[str] = []
    end = 0
    for found in _BRACES.finditer(uri):
        parts += [re.escape(uri[end : found.start()]), f"(?P<{found[1]}>[^/?#]+)"]
        end = found.end()
    return re.compile("".join((*parts, re.escape(uri[end:]))))
