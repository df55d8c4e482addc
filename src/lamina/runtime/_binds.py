"""Binding contracts: what a runtime, and one that waits for seeds, can do with them (design §7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Never, TypeVar, overload

if TYPE_CHECKING:
    from lamina.audit import Audit
    from lamina.call import Caller
    from lamina.contract import BoundContract, Contract, Host, HostWithPrincipal
    from lamina.effect import Layer, Seeds
    from lamina.engine import Given
    from lamina.runtime._core import Core

Have = TypeVar("Have", contravariant=True)
M = TypeVar("M")
P = TypeVar("P")
V = TypeVar("V")
X = TypeVar("X")


class BindsContracts(Generic[Have]):
    """A runtime that serves contracts."""

    __slots__ = ()

    _core: Core
    _given: Given

    @overload
    def bind(
        self, contract: Contract[M, None, V, X, Have], host: Host[M, V], /, *, audit: Audit | None = None
    ) -> BoundContract[V, X]: ...
    @overload
    def bind(
        self, contract: Contract[M, P, V, X, Have], host: HostWithPrincipal[M, V, P], /, *, audit: Audit | None = None
    ) -> BoundContract[V, X]: ...
    def bind(
        self,
        contract: Contract[Any, Any, Any, Any, Have],
        host: Any,  # Any: the overloads say what it has to be
        /,
        *,
        audit: Audit | None = None,
    ) -> BoundContract[Any, Any]:
        """Serve a contract over a live application, with this runtime's services (design §7).

        Capabilities that need approval ask its `Approval`; it uses the `Audit`, `Telemetry`, `Clock`, `Ids` and
        `Secrets` that are offered. Everything else is as in `Contract.bind`.

        Args:
            contract: The contract.
            host: The application.
            audit: Where decisions are recorded instead.

        Raises:
            ConstructionError: As `Contract.bind`, and what the runtime does not have.
        """
        from lamina.runtime._contract import bind_contract  # who serves nothing does not pay for it

        return bind_contract(self._core, self._given, contract, host, audit)


class BindsContractsFor(Generic[Have]):
    """A runtime that serves contracts for callers that bring what it waits for."""

    __slots__ = ()

    _core: Core
    _seeds: Seeds[Any]

    def bind(
        self,
        contract: Contract[Any, Any, V, X, Have | Caller],  # Any: `Runtime.bind` has the precise types
        host: Any,
        /,
        *,
        given: Layer[Never, Any, Never] | None = None,
        audit: Audit | None = None,
    ) -> BoundContract[V, X]:
        """Serve a contract whose approvals come from whoever calls; see `Runtime.bind`.

        Args:
            contract: The contract.
            host: The application.
            given: The values of the other seeds.
            audit: Where decisions are recorded instead.

        Raises:
            ConstructionError: As `Runtime.bind`, or a seed has no value.
        """
        from lamina.runtime._contract import bind_contract  # as in `Runtime.surface`
        from lamina.runtime._surface import seeds_of_surface

        return bind_contract(self._core, seeds_of_surface(self._seeds, given), contract, host, audit)
