"""Projections: what of a model may be read, its schema, and the paths that it observes (seed 000, behaviour §1.3)."""

from __future__ import annotations

import keyword
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar, cast

import attrs

from lamina.effect import ConstructionError, Problem, caller_where, name_of, resolved_hints
from lamina.schema import Codec, codec

M = TypeVar("M")
T = TypeVar("T")
M_contra = TypeVar("M_contra", contravariant=True)
T_co = TypeVar("T_co", covariant=True)


@attrs.frozen(eq=False)
class Reading:
    """A projection of one model class, ready to be read.

    Attributes:
        schema: The type of what is read.
        codec: Its codec.
        read: Reads it of a model.
        paths: What of the model it observes.
        same: Whether two values that were read are one and the same, by identity.
    """

    schema: object
    codec: Codec[Any]  # Any: the model's and the value's types are erased here
    read: Callable[[Any], Any]
    paths: tuple[str, ...]
    same: Callable[[Any, Any], bool]


class Projection(ABC, Generic[M_contra, T_co]):
    """A read-only view of a model; made by `pick`, `compose` and `struct`."""

    __slots__ = ("__weakref__",)

    @abstractmethod
    def reading(self, model: type[Any], /) -> Reading:
        """Make it ready for a class of models.

        Raises:
            ConstructionError: It does not read such a model.
        """


AnyProjection: TypeAlias = Projection[object, Any]  # Any: what is picked by name has no type to a checker
"""Reads whatever has the fields that it names, which is checked when a contract takes it."""


def pick(*paths: str) -> AnyProjection:
    """Project fields of the model as they are.

    Args:
        paths: Names of fields; `project.name` picks a field of a field.

    Example:
        >>> @attrs.frozen
        ... class Model:
        ...     todos: tuple[str, ...] = ()
        ...     last_error: str = ""
        >>> reading = pick("todos").reading(Model)
        >>> reading.codec.encode(reading.read(Model(("milk",), "secret"))).unwrap()
        {'todos': ['milk']}
    """
    return _Pick(paths)


def compose(**parts: Projection[M, Any]) -> Projection[M, Any]:  # Any: each part has its own type
    """Put projections together, each under a name.

    Example:
        >>> @attrs.frozen
        ... class Model:
        ...     todos: tuple[str, ...] = ()
        >>> both = compose(list=pick("todos"), count=struct(Model, int, lambda m: len(m.todos), observes=("todos",)))
        >>> both.reading(Model).paths
        ('todos',)
    """
    return _Composed(parts)


def struct(
    model: type[M], schema: type[T], read: Callable[[M], T], *, observes: tuple[str, ...] = ()
) -> Projection[M, T]:
    """Project what a function makes of the model.

    Args:
        model: The model's class.
        schema: The type of the value; an attrs class, or whatever has a codec.
        read: Makes it; pure.
        observes: Which paths of the model it looks at, for `wiring` and the manifest.

    Example:
        >>> @attrs.frozen
        ... class Model:
        ...     todos: tuple[str, ...] = ()
        >>> struct(Model, int, lambda m: len(m.todos), observes=("todos",)).reading(Model).read(Model(("a", "b")))
        2
    """
    return _Struct(model, schema, read, observes)


class _Struct(Projection[M_contra, T_co]):
    __slots__ = ("_model", "_observes", "_read", "_schema")

    def __init__(
        self, model: type[M_contra], schema: type[T_co], read: Callable[[Any], T_co], observes: tuple[str, ...]
    ):
        self._model = model
        self._schema = schema
        self._read = read
        self._observes = observes

    def reading(self, model: type[Any], /) -> Reading:
        """Check that it reads this model."""
        if not issubclass(model, self._model):
            raise _refused(
                f"struct({name_of(self._model)}, …)", f"it reads a {name_of(self._model)}, not a {name_of(model)}"
            )
        for path in self._observes:
            _check_path(model, path, f"struct(…, observes=({path!r}, …))")
        return Reading(self._schema, codec(self._schema), self._read, self._observes, _is)


class _Pick(Projection[object, Any]):
    __slots__ = ("_paths",)

    def __init__(self, paths: tuple[str, ...]) -> None:
        self._paths = paths

    def reading(self, model: type[Any], /) -> Reading:
        """Make a class of the picked fields."""
        label = f"pick({', '.join(map(repr, self._paths))})"
        if not self._paths:
            raise _refused("pick()", "it picks nothing")
        tree: dict[str, Any] = {}
        for path in self._paths:
            _check_path(model, path, label)
            branch = tree
            *above, last = path.split(".")
            for name in above:
                branch = branch.setdefault(name, {})
                if branch is None:
                    raise _refused(label, f"{name!r} is picked whole already")
            if last in branch:
                raise _refused(label, f"{path!r} is picked twice")
            branch[last] = None
        made, read = _view(model, tree)
        return Reading(made, codec(made), read, self._paths, _same_fields)


class _Composed(Projection[M_contra, Any]):
    __slots__ = ("_parts",)

    def __init__(self, parts: Mapping[str, Projection[Any, Any]]) -> None:
        self._parts = dict(parts)

    def reading(self, model: type[Any], /) -> Reading:
        """Make a class of the parts."""
        if not self._parts:
            raise _refused("compose()", "it composes nothing")
        odd = [name for name in self._parts if not name.isidentifier() or keyword.iskeyword(name) or name[0] == "_"]
        if odd:
            raise _refused("compose(…)", f"{', '.join(map(repr, odd))} is no name that a field can have")
        readings = {name: part.reading(model) for name, part in self._parts.items()}
        made = _make("Context", {name: part.schema for name, part in readings.items()})
        reads = tuple(part.read for part in readings.values())
        sames = tuple((name, part.same) for name, part in readings.items())
        paths = tuple(dict.fromkeys(path for part in readings.values() for path in part.paths))

        def read(model: object) -> object:
            return made(*[part(model) for part in reads])

        def same(one: object, other: object) -> bool:
            return all(part(getattr(one, name), getattr(other, name)) for name, part in sames)

        return Reading(made, codec(made), read, paths, same)


def _view(model: type[Any], tree: Mapping[str, Any]) -> tuple[type[Any], Callable[[Any], Any]]:
    hints = resolved_hints(model)
    types: dict[str, object] = {}
    getters: list[tuple[str, Callable[[Any], Any] | None]] = []
    for name, below in tree.items():
        if below is None:
            types[name] = hints[name]
            getters.append((name, None))
        else:
            types[name], inner = _view(hints[name], below)
            getters.append((name, inner))
    made = _make(model.__name__, types)

    def read(value: Any) -> Any:
        return made(
            *[getattr(value, name) if inner is None else inner(getattr(value, name)) for name, inner in getters]
        )

    return made, read


def _make(name: str, types: Mapping[str, object]) -> type[Any]:
    made = attrs.make_class(name, list(types), frozen=True, slots=True)
    made.__annotations__ = dict(types)
    made.__doc__ = None  # attrs writes one, which would become the schema's description
    return made


def _check_path(model: type[Any], path: str, label: str) -> None:
    """Follow a path through attrs classes; one that leads nowhere is refused."""
    at: object = model
    for name in path.split("."):
        cls = typing.get_origin(at) or at
        hints: Mapping[str, object] = resolved_hints(cls) if isinstance(cls, type) and attrs.has(cls) else {}
        if name not in hints or name == "return":
            raise _refused(label, f"{name_of(at)} has no field {name!r}")
        at = hints[name]


def _is(one: object, other: object) -> bool:
    return one is other


def _same_fields(one: object, other: object) -> bool:
    """Compare what was picked by identity, field by field: the view itself is made anew each time."""
    fields: tuple[attrs.Attribute[object], ...] = attrs.fields(cast("type[attrs.AttrsInstance]", type(one)))
    for field in fields:
        mine: object = getattr(one, field.name)
        theirs: object = getattr(other, field.name)
        if not (_same_fields(mine, theirs) if type(mine).__module__ == __name__ else mine is theirs):
            return False
    return True


def _refused(label: str, why: str) -> ConstructionError:
    return ConstructionError([Problem("PROJECTION", label, (f"{why}  {caller_where()}",))])
