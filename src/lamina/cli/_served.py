"""What `lamina serve` serves: named on the command line, found in the application or its module, and made a surface."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from difflib import get_close_matches
from typing import Any, TypeAlias, cast

import attrs

from lamina.agent import Binding
from lamina.call import Caller, NoCaller, Surface
from lamina.cli._exits import UsageError
from lamina.cli._load import AnyApp, Found, Wanted, has_attribute, load
from lamina.cli._plain import printable
from lamina.contract import BoundContract, Contract, MemoryHost
from lamina.effect import (
    ConstructionError,
    Declaration,
    Handler,
    Need,
    Problem,
    Program,
    bind,
    name_of,
    seed,
)
from lamina.runtime import RuntimeBuilder, build
from lamina.tools import Toolkit, Tools, requirements_of

Servable: TypeAlias = "Binding[Any, Any, Any] | Contract[Any, Any, Any, Any, Any] | Tools[Any] | Surface"
# Any: whatever the user's application has

_KINDS = (Binding, Contract, Tools, Surface)
_WANTED = Wanted(
    "APP",
    (RuntimeBuilder, *_KINDS),
    "lamina.demo.todo:app",
    "write app = RuntimeBuilder().provide(...).agent(...) at its top level.",
)


@attrs.frozen
class Served:
    """What is served, and the application that it stands on.

    Attributes:
        app: The application; an empty one for what needs none.
        target: `MODULE:APP`, as it was given.
        name: What the thing is called.
        thing: It.
    """

    app: AnyApp
    target: str
    name: str
    thing: Servable

    @property
    def kind(self) -> str:
        """Say what it is."""
        return kind_of(self.thing)

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Surface]:
        """Open the application, and make a surface of the thing.

        Raises:
            ConstructionError: Something is missing; it is raised before anything is opened, as far as it can be.
            AcquisitionFailed: A layer did not open.
        """
        programs: list[Program[Any]] = []
        if isinstance(self.thing, Tools):
            programs.append(_Needs(name=self.name, toolkit=self.thing))
        elif isinstance(self.thing, Contract):
            if not any(program is self.thing for program in self.app.programs):
                programs.append(self.thing)
            _hosts_in(self._planned, self.thing, self.target)
        if isinstance(self.thing, Surface):
            async with build(self.app), _living(self.thing) as surface:
                yield surface
        elif self._has_callers:
            async with build(self.app, programs=programs) as runtime:
                yield await self._made(runtime, runtime)
        else:
            anything: Any = self.app  # Any: which seeds it needs is its own
            async with build(anything, programs=programs, seeds=seed(Caller)) as waiting:
                nobody: Any = waiting.given(bind(Caller).value(NoCaller()))
                yield await self._made(waiting, nobody)

    @property
    def _has_callers(self) -> bool:
        """Whether the application has a `Caller` of its own."""
        return any(key is Caller for key in self.app.plan().exports)

    @property
    def _planned(self) -> AnyApp:
        """The application as it is planned for: each call brings its `Caller`."""
        return self.app if self._has_callers else self.app.provide(bind(Caller).value(NoCaller()))

    async def _made(self, opened: Any, runtime: Any) -> Surface:  # Any: the runtimes of whatever application it is
        made: Surface
        if isinstance(self.thing, Contract):
            made = opened.bind(self.thing, await _host(runtime, self._planned, self.thing, self.target))
        elif isinstance(self.thing, Binding):
            made = opened.surface(self.thing)
        else:
            made = opened.surface(self.thing, name=self.name)
        return made


def find_served(target: str, name: str | None) -> Served:
    """Find what the command line names.

    An agent of the application by its id comes first, then a contract that it registers by its name, then whatever the
    module has under that name; a contract of the module is known by its own name, too.

    Args:
        target: `MODULE:APP`.
        name: Which of it; the only one without.

    Raises:
        UsageError: There is none of that name, or several and none was named.
        ConstructionError: The module itself puts together what cannot be.
    """
    found = load(target, _WANTED)
    if not isinstance(found.value, RuntimeBuilder):
        if name is not None:
            raise UsageError(
                f"{target} is {kind_of(cast('Servable', found.value))}, which is served as it is.",
                f"Leave {printable(name)!r} out, or name an application: MODULE:APP SURFACE.",
            )
        path = target.partition(":")[2]
        return Served(RuntimeBuilder(), target, path, cast("Servable", found.value))
    app = cast("AnyApp", found.value)  # type: ignore[redundant-cast]  # to pyright the parameters are unknown
    candidates = dict(_candidates(app, found))
    if name is not None:
        thing = candidates.get(name) or _of_that_name(found, name)
        if thing is None:
            raise _no_such(target, name, candidates, found)
        return Served(app, target, name, thing)
    distinct = {id(thing): (called, thing) for called, thing in reversed(candidates.items())}
    if len(distinct) == 1:
        ((called, thing),) = distinct.values()
        return Served(app, target, called, thing)
    if not distinct:
        raise UsageError(
            f"{target} has nothing to serve.",
            "Add an agent or a contract to the application, or write a Toolkit at the module's top level.",
        )
    listed = [f"{printable(called)} ({kind_of(thing)})" for called, thing in reversed(distinct.values())]
    raise UsageError(
        f"{target} has several surfaces: {', '.join(listed)}.", f"Write: lamina serve {target} SURFACE --mcp stdio"
    )


def kind_of(thing: Servable) -> str:
    """Say what something is, for people."""
    if isinstance(thing, Binding):
        return "an agent"
    if isinstance(thing, Contract):
        return "a contract"
    if isinstance(thing, BoundContract):
        return "a bound contract"
    return "a toolkit" if isinstance(thing, Tools) else "a surface"


def _candidates(app: AnyApp, found: Found) -> Iterator[tuple[str, Servable]]:
    """Give all that may be meant where nothing is said, the last of a name first; single tools only where named."""
    public = {name: value for name, value in vars(found.module).items() if not name.startswith("_")}
    for value in public.values():
        if isinstance(value, Contract):
            contract = cast("Contract[Any, Any, Any, Any, Any]", value)  # type: ignore[redundant-cast]  # not to pyright
            yield contract.name, contract
    for name, value in public.items():
        if isinstance(value, Contract | Toolkit | Surface):
            yield name, cast("Servable", value)
    for program in app.programs:
        if isinstance(program, Contract):
            registered = cast("Contract[Any, Any, Any, Any, Any]", program)  # type: ignore[redundant-cast]  # as above
            yield registered.name, registered
    yield from app.agents.items()


def _of_that_name(found: Found, name: str) -> Servable | None:
    value: object = found.module
    for part in name.split("."):
        if not part.isidentifier() or not has_attribute(value, part):
            return None
        value = getattr(value, part)
    if not isinstance(value, _KINDS):
        raise UsageError(
            f"{found.module.__name__}:{name} is of type {type(value).__qualname__}, which cannot be served.",
            "A Toolkit, a Contract, an agent with its model or a Surface can.",
        )
    return cast("Servable", value)  # type: ignore[redundant-cast]  # as below


def _no_such(target: str, name: str, candidates: Mapping[str, Servable], found: Found) -> UsageError:
    names = [*candidates, *(one for one, value in vars(found.module).items() if isinstance(value, _KINDS))]
    near = get_close_matches(name, list(dict.fromkeys(names)), 3)
    hint = f"There is {', '.join(map(printable, near or candidates))}." if near or candidates else "It has none."
    return UsageError(f"{target} has no surface {printable(name)!r}.", hint)


@attrs.frozen(eq=False, kw_only=True)
class _Needs(Program[Any]):
    """What a toolkit needs, so that it is looked for before anything is opened."""

    name: str
    toolkit: Tools[Any]

    def declare(self) -> Declaration:
        """Ask for what its tools ask for."""
        tools = self.toolkit.tools
        return Declaration(
            name=f'surface "{self.name}"',
            where=tools[0].where if tools else _nowhere(),
            requirements=tuple(requirement for tool in tools for requirement in requirements_of(tool)),
        )


def _nowhere() -> Any:  # Any: a place in a file
    from lamina.effect import caller_where

    return caller_where()


@asynccontextmanager
async def _living(surface: Surface) -> AsyncGenerator[Surface]:
    """Run the host of a contract that its module has bound, where it has to be run."""
    host = surface.host if isinstance(surface, BoundContract) else None
    if not isinstance(host, MemoryHost):
        yield surface
        return
    async with cast("MemoryHost[Any, Any]", host):  # type: ignore[redundant-cast]  # to pyright the parameters are unknown
        yield surface


def _hosts_in(app: AnyApp, contract: Contract[Any, Any, Any, Any, Any], target: str) -> list[Any]:
    """Give the services that may be the application of a contract, by what their classes can do.

    Raises:
        ConstructionError: There is none.
    """
    plan = app.plan()
    plan.raise_problems()
    keys = [
        key
        for key, node in plan.exports.items()
        if node.life != "request" and all(callable(getattr(key, method, None)) for method in ("model", "dispatch"))
    ]
    if not keys:
        lines = (
            f'contract "{contract.name}"  {contract.where}',
            f"no service of {target} has model() and dispatch()",
        )
        raise ConstructionError([Problem("MISSING", "a host", lines, ".provide(scoped(run_the_host))")])
    return keys


async def _host(
    runtime: Any,  # Any: the runtime of whatever application it is
    app: AnyApp,
    contract: Contract[Any, Any, Any, Any, Any],
    target: str,
) -> Any:
    keys = _hosts_in(app, contract, target)
    hosts = {name_of(key): await _service(runtime, key, contract) for key in keys}
    if len(hosts) > 1:
        hosts = {name: host for name, host in hosts.items() if isinstance(host.model(), contract.model)}
    if len(hosts) == 1:
        return next(iter(hosts.values()))
    lines = (
        f'contract "{contract.name}"  {contract.where}',
        f"{', '.join(map(name_of, keys))} of {target} may be its application; its model is {name_of(contract.model)}",
    )
    raise ConstructionError([Problem("AMBIGUOUS" if hosts else "MISSING", "a host", lines)])


async def _service(runtime: Any, key: Any, contract: Contract[Any, Any, Any, Any, Any]) -> Any:
    async def give(_: None, host: object) -> object:
        return host

    asking: Handler[Any, Any, Any] = Handler("serve", contract.where, (Need("host", key),), give)
    return await runtime.run(asking, None)
