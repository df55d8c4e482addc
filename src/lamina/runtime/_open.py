"""A runtime that waits for what each call brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Never, TypeVar, overload

from lamina.agent import Binding
from lamina.effect import Layer, Seeds
from lamina.runtime._binds import BindsContractsFor
from lamina.runtime._core import Core
from lamina.runtime._runtime import Runtime

if TYPE_CHECKING:
    from typing import Unpack

    from lamina.call import Caller, Surface
    from lamina.runtime._keywords import SurfaceKeywords
    from lamina.tools import Tools

Have = TypeVar("Have", contravariant=True)
S = TypeVar("S")
Seeded = TypeVar("Seeded")


class Open(BindsContractsFor[Have], Generic[Have, Seeded]):
    """A runtime that waits for what each call brings: its only use is `given`."""

    __slots__ = ("_core", "_seeds")

    def __init__(self, core: Core, seeds: Seeds[Seeded]) -> None:
        self._core = core
        self._seeds = seeds

    def given(self, values: Layer[Never, Seeded, Never], /) -> Runtime[Have | Seeded]:
        """Give the seeds' values for one caller: `bind(Principal).value(p) | bind(Caller).value(c)`.

        It makes nothing and acquires nothing, so it may be called for every request.

        Raises:
            ConstructionError: A seed has no value, or a value has no seed; forgetting one is a type error, too.
        """
        return Runtime(self._core, self._seeds.given(values))

    @overload
    def surface(
        self: Open[Have, Caller],
        program: Tools[Have | Caller] | Binding[Have | Caller, Any, Any],
        /,
        **options: Unpack[SurfaceKeywords],
    ) -> Surface: ...
    @overload
    def surface(
        self: Open[Have, Caller | S],
        program: Tools[Have | Caller | S] | Binding[Have | Caller | S, Any, Any],
        /,
        *,
        given: Layer[Never, S, Never],
        **options: Unpack[SurfaceKeywords],
    ) -> Surface: ...
    def surface(
        self,
        program: Tools[Any] | Binding[Any, Any, Any],
        /,
        *,
        given: Layer[Never, Any, Never] | None = None,
        **options: Unpack[SurfaceKeywords],
    ) -> Surface:
        """Offer a toolkit, or an agent, whose handlers may take a `Caller`; see `Runtime.surface`.

        Each call brings its own `Caller`. The values of the other seeds are given once, for all calls: make a surface
        for each caller where they differ from one to the next, which acquires nothing.

        Args:
            program: The toolkit, or the agent with its model.
            given: The values of the other seeds: `bind(Principal).value(p)`.
            options: As `Runtime.surface`.

        Raises:
            ConstructionError: It needs what the runtime does not have, or a seed has no value.
        """
        from lamina.runtime._keywords import SurfaceOptions  # as in `Runtime.surface`
        from lamina.runtime._surface import make_surface, seeds_of_surface

        return make_surface(self._core, seeds_of_surface(self._seeds, given), program, SurfaceOptions(**options))
