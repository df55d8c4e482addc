"""attrs classes: cattrs writes the code that reads and writes them fast; the slow reader finds every problem."""

from __future__ import annotations

import difflib
from typing import Annotated, Any

import attrs
from cattrs import Converter, gen
from cattrs.gen import override

from lamina.schema._describe import Definitions, summary
from lamina.schema._gather import Gather
from lamina.schema._json import JsonValue
from lamina.schema._mismatch import Bad, bad
from lamina.schema._shape import Later, Shape
from lamina.schema._terms import Hook, Kind, Schema

_CONVERTER = Converter(detailed_validation=False)
_GEN: Any = gen  # its functions are typed by attribute types that are not known here
_FACTORY: Any = attrs.Factory  # a class, which attrs declares as a function
_EMPTY: tuple[Any, ...] = (list, dict, tuple, set, frozenset)
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

    def kinds(self) -> frozenset[Kind]:
        return frozenset({"object"})

    def __init__(self, cls: type, title: str, tag: str | None) -> None:
        self.cls = cls
        self.title = title
        self.tag = tag
        self.members: tuple[Member, ...] = ()  # set when they are read: a class may hold itself
        self._later = Later(self._compile)
        self._asked = False

    def classes(self) -> tuple[type, ...]:
        return (self.cls,)

    def hashable(self) -> bool:
        if self.cls.__hash__ is None or self._asked:
            return self._asked  # asked by itself: the rest of it decides
        self._asked = True
        try:
            return all(member.shape.hashable() for member in self.members if member.attribute.eq)
        finally:
            self._asked = False

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
        return self._later.hook("read", detail)

    def writer(self, detail: bool) -> Hook:
        return self._later.hook("write", detail)

    def _compile(self, way: str, detail: bool) -> Hook:
        if way == "read":
            return self._full_reader() if detail else self._fast_reader()
        return self._full_writer() if detail else self._fast_writer()

    def _fast_reader(self) -> Hook:
        generated: Hook = _GEN.make_dict_structure_fn_from_attrs(
            [
                _hooked(member, override(rename=member.key, struct_hook=member.shape.reader(False)))
                for member in self.members
            ],
            self.cls,
            _CONVERTER,
            dict.fromkeys(_type_parameters(self.cls), object),
            _cattrs_forbid_extra_keys=False,
            _cattrs_detailed_validation=False,
            _cattrs_prefer_attrib_converters=False,
            _cattrs_use_linecache=False,
        )
        cls, tag = self.cls, self.tag
        allowed = self._keys()

        def read(given: dict[str, Any], _: object = None) -> Any:
            if type(given) is not dict:
                raise bad("expected object")
            if not given.keys() <= allowed:
                raise bad("an undeclared key")
            return generated(given, cls)

        def read_tagged(value: Any, _: object = None) -> Any:
            made = read(value)
            if value["_tag"] != tag:
                raise bad("unknown _tag")
            return made

        return read if tag is None else read_tagged

    def _full_reader(self) -> Hook:
        hooks = [(member, member.shape.reader(True)) for member in self.members]
        keys = self._keys()

        def read(given: dict[str, Any], _: object = None) -> Any:
            if type(given) is not dict:
                raise bad("expected object")
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
        generated: Hook = _GEN.make_dict_unstructure_fn_from_attrs(
            [
                _hooked(member, override(rename=member.key, unstruct_hook=member.shape.writer(False)))
                for member in self.members
            ],
            self.cls,
            _CONVERTER,
            _cattrs_use_linecache=False,
        )
        cls, tag, why = self.cls, self.tag, f"expected {self.title}"

        def write(value: Any) -> dict[str, JsonValue]:
            if type(value) is not cls:
                raise bad(why)
            made: dict[str, JsonValue] = generated(value)
            return made

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
        own = [] if self.tag is None else ["_tag"]
        return frozenset([*own, *(member.key for member in self.members)])


def _hooked(member: Member, hook: object) -> attrs.Attribute[Any]:
    """Put a field's hooks where cattrs finds them; by keyword, a field named like one of its own would clash."""
    return member.attribute.evolve(type=Annotated[object, hook])


def _type_parameters(cls: type) -> list[str]:
    return [parameter.__name__ for parameter in getattr(cls, "__parameters__", ())]


def _default(member: Member) -> Schema:
    default: Any = member.attribute.default
    if isinstance(default, _FACTORY):
        if default.factory not in _EMPTY:
            return {}  # it may give another value each time
        default = default.factory()
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
