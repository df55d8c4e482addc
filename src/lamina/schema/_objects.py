"""attrs classes: cattrs writes the code that reads and writes them fast; the slow reader finds every problem."""

from __future__ import annotations

import difflib
from typing import Any, ClassVar, cast

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn_from_attrs, make_dict_unstructure_fn_from_attrs, override

from lamina.schema._describe import Definitions, summary
from lamina.schema._json import JsonValue
from lamina.schema._mismatch import Bad, Gather, bad
from lamina.schema._shape import Hook, Kind, Schema, Shape

_CONVERTER = Converter(detailed_validation=False)
_TOLD = 12


@attrs.frozen(eq=False)
class Member:
    """One field of a class: its attribute, its key in JSON (the attrs alias), and its shape."""

    attribute: attrs.Attribute[Any]  # whatever the field holds
    key: str
    shape: Shape
    required: bool
    description: str | None = None


class Object(Shape):
    """An attrs class. Undeclared keys are refused; with a tag, `_tag` is required and says the class."""

    kinds: ClassVar[frozenset[Kind]] = frozenset({"object"})

    def __init__(self, cls: type, title: str, tag: str | None) -> None:
        self.cls = cls
        self.classes = (cls,)
        self.title = title
        self.tag = tag
        self.members: tuple[Member, ...] = ()  # set when they are read: a class may hold itself
        self._hooks: dict[tuple[str, bool], Hook | None] = {}

    @property
    def hashable(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]  # read only anyway
        return self.cls.__hash__ is not None

    def describe(self, defs: Definitions) -> Schema:
        return defs.ref(self, self.title, self.body)

    def body(self, defs: Definitions) -> Schema:
        """Give the schema itself, where `describe` gives a reference to it."""
        properties: Schema = {}
        required: list[JsonValue] = []
        if self.tag is not None:
            properties["_tag"] = {"type": "string", "const": self.tag}
            required.append("_tag")
        for member in self.members:
            told = member.shape.describe(defs)
            if member.description is not None:
                told = {**told, "description": member.description}
            if member.required:
                required.append(member.key)
            else:
                told = {**told, **_default(member)}
            properties[member.key] = told
        schema: Schema = {"type": "object", "title": self.title}
        if about := summary(self.cls.__doc__):
            schema["description"] = about
        return {**schema, "properties": properties, "required": required, "additionalProperties": False}

    def reader(self, detail: bool) -> Hook:
        return self._compiled("read", detail)

    def writer(self, detail: bool) -> Hook:
        return self._compiled("write", detail)

    def _compiled(self, way: str, detail: bool) -> Hook:
        place = (way, detail)
        if place not in self._hooks:
            self._hooks[place] = None
            build = {
                ("read", False): self._fast_reader,
                ("read", True): self._full_reader,
                ("write", False): self._fast_writer,
                ("write", True): self._full_writer,
            }[place]
            self._hooks[place] = build()
        made = self._hooks[place]
        if made is not None:
            return made
        hooks = self._hooks  # it is being compiled right now, further out: a recursive class looks itself up later

        def later(value: Any, *rest: object) -> Any:
            return cast("Hook", hooks[place])(value, *rest)

        return later

    def _fast_reader(self) -> Hook:
        generated: Hook = make_dict_structure_fn_from_attrs(
            [_plain(member.attribute) for member in self.members],
            self.cls,
            _CONVERTER,
            dict.fromkeys(_type_parameters(self.cls), object),
            _cattrs_forbid_extra_keys=False,
            _cattrs_detailed_validation=False,
            _cattrs_prefer_attrib_converters=False,
            _cattrs_use_linecache=False,
            **{m.attribute.name: override(rename=m.key, struct_hook=m.shape.reader(False)) for m in self.members},
        )
        cls, tag = self.cls, self.tag
        allowed = self._keys()

        def read(value: Any, _: object = None) -> Any:
            if type(value) is not dict or not value.keys() <= allowed:  # pyright: ignore[reportUnknownMemberType]  # any dict
                raise bad("expected object")
            return generated(value, cls)

        def read_tagged(value: Any, _: object = None) -> Any:
            made = read(value)
            if value["_tag"] != tag:
                raise bad("unknown _tag")
            return made

        return read if tag is None else read_tagged

    def _full_reader(self) -> Hook:
        hooks = [(member, member.shape.reader(True)) for member in self.members]
        keys = self._keys()

        def read(value: Any, _: object = None) -> Any:
            if type(value) is not dict:
                raise bad("expected object")
            given = cast("dict[str, Any]", value)
            gather = Gather()
            if self.tag is not None and (given.get("_tag") != self.tag):
                gather.add("", bad(tag_problem(given, [self.tag])))
            arguments: dict[str, Any] = {}
            for member, hook in hooks:
                try:
                    if member.key in given:
                        arguments[member.attribute.alias or member.attribute.name] = hook(given[member.key])
                    elif member.required:
                        raise bad("missing")
                except Bad as part:
                    gather.add(f".{member.key}", part)
            if extra := [key for key in given if key not in keys]:
                gather.add("", bad(_undeclared(extra, sorted(keys))))
            gather.done()
            try:
                return self.cls(**arguments)
            except Exception:  # a validator or converter of the class said no, in whatever words
                raise bad(f"not a valid {self.title}") from None

        return read

    def _fast_writer(self) -> Hook:
        generated: Hook = make_dict_unstructure_fn_from_attrs(
            [_plain(member.attribute) for member in self.members],
            self.cls,
            _CONVERTER,
            _cattrs_use_linecache=False,
            **{m.attribute.name: override(rename=m.key, unstruct_hook=m.shape.writer(False)) for m in self.members},
        )
        cls, tag, why = self.cls, self.tag, f"expected {self.title}"

        def write(value: Any) -> dict[str, JsonValue]:
            if type(value) is not cls:
                raise bad(why)
            return cast("dict[str, JsonValue]", generated(value))

        def write_tagged(value: Any) -> dict[str, JsonValue]:
            return {"_tag": tag, **write(value)}

        return write if tag is None else write_tagged

    def _full_writer(self) -> Hook:
        hooks = [(member, member.shape.writer(True)) for member in self.members]

        def write(value: Any) -> dict[str, JsonValue]:
            if type(value) is not self.cls:
                raise bad(f"expected {self.title}")
            gather = Gather()
            made: dict[str, JsonValue] = {} if self.tag is None else {"_tag": self.tag}
            for member, hook in hooks:
                try:
                    if not hasattr(value, member.attribute.name):
                        raise bad("missing")
                    made[member.key] = hook(getattr(value, member.attribute.name))
                except Bad as part:
                    gather.add(f".{member.key}", part)
            gather.done()
            return made

        return write

    def _keys(self) -> frozenset[str]:
        return frozenset(member.key for member in self.members) | ({"_tag"} if self.tag is not None else set())


def _plain(attribute: attrs.Attribute[Any]) -> attrs.Attribute[Any]:
    """Hide the annotation from cattrs: the hooks are given, and it may be a string that only we can resolve."""
    return attribute.evolve(type=object)


def _type_parameters(cls: type) -> list[str]:
    return [parameter.__name__ for parameter in getattr(cls, "__parameters__", ())]


def _default(member: Member) -> Schema:
    default = member.attribute.default
    if isinstance(default, attrs.Factory):  # pyright: ignore[reportArgumentType]  # attrs types its class as a function
        factory = cast("Any", default).factory
        if factory not in (list, dict, tuple, set, frozenset):
            return {}  # it may give another value each time
        default = factory()
    try:
        return {"default": member.shape.writer(False)(default)}
    except Exception:  # a default of another type than the field's is the class's own affair
        return {}


def tag_problem(given: dict[str, Any], tags: list[str]) -> str:
    """Say what is wrong with the tag of an object, without quoting it."""
    fault = "unknown _tag" if "_tag" in given else "missing _tag"
    return f"{fault}; expected {'one of ' if len(tags) > 1 else ''}{', '.join(tags)}"


def _undeclared(extra: list[Any], declared: list[str]) -> str:
    """Say which keys there are. The sender's own key may be anything, so only names that we declared are told."""
    count = "an undeclared key" if len(extra) == 1 else f"{len(extra)} undeclared keys"
    words = [key for key in extra[:8] if isinstance(key, str) and len(key) <= 64]
    near = {name for key in words for name in difflib.get_close_matches(key, declared, 1)}
    if near:
        return f"{count}; perhaps {', '.join(sorted(near))} was meant"
    shown = ", ".join(declared[:_TOLD]) + (", …" if len(declared) > _TOLD else "")
    return f"{count}; declared {'are ' + shown if declared else 'is none'}"
