"""The contract: what of its own messages an application lets agents send, as an immutable value (seed 000)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, Never, TypeVar, cast, overload

import attrs

from lamina.approval import Approval, Ask
from lamina.audit import Audit
from lamina.call import ExecutionClass
from lamina.contract._action import Action, MessageSet, check_subset
from lamina.contract._exposed import Exposed
from lamina.contract._ground import Ground
from lamina.contract._messages import NAME, how_else, members_of
from lamina.contract._projection import Projection
from lamina.contract._resource import declared_resource
from lamina.contract._values import At, Attempt, Authorized
from lamina.contract._variant import Variant, compile_variant
from lamina.contract.port import Host, HostWithPrincipal
from lamina.effect import Clock, ConstructionError, Ids, Problem, caller_where, name_of
from lamina.telemetry import Telemetry
from lamina.tools import Toolkit

if TYPE_CHECKING:
    from typing import Unpack

    from lamina.contract._bound import BoundContract
    from lamina.contract._keywords import VariantKeywords

In = TypeVar("In", covariant=True)
M = TypeVar("M")
P = TypeVar("P")
V = TypeVar("V")
X = TypeVar("X")
W = TypeVar("W")
I = TypeVar("I")  # noqa: E741 - the input
T = TypeVar("T")
P2 = TypeVar("P2")
H = TypeVar("H")


@attrs.frozen(eq=False, kw_only=True, repr=False)
class Contract(Exposed[In], Generic[M, P, V, X, In]):
    """Which of an application's messages agents may send, under which names, when, by whom, and what they may read.

    `Contract.of(Model, messages=Message)` begins one; every method gives a new contract, so that a checker knows what
    each predicate is given. `M` is the model, `P` the principal, `V` the messages that may be sent, `X` the inputs that
    dispatch takes, `In` the services that its variants need. A contract reads no model by itself: it is data, to be
    bound to a live host, and as often as one likes.

    Attributes:
        model: The model's class.
        union: The classes of the application's messages.
        principal: The principal's class; None without one.
        name: The contract's, for protocols and reports.
        version: Its version.
        context: What of the model agents see; None where nothing is projected.
        variants: What is exposed, in declaration order.
        declared: The resources, in declaration order.
        where: Where it was begun.

    Source: seed 000, design §7, behaviour §1.

    Example:
        >>> @attrs.frozen
        ... class Model:
        ...     todos: tuple[str, ...] = ()
        >>> @attrs.frozen
        ... class RequestedCreateTodo:
        ...     title: str
        >>> @attrs.frozen
        ... class RequestedClear: ...
        >>> todo = (
        ...     Contract.of(Model, messages=RequestedCreateTodo | RequestedClear)
        ...     .variant(RequestedCreateTodo, "Create a todo", name="create_todo")
        ...     .variant(RequestedClear, "Remove all todos", available=lambda m: len(m.todos) > 0)
        ... )
        >>> [message.name for message in todo.messages]
        ['create_todo', 'requested_clear']
    """

    model: type[M]
    principal: type[P] | None

    @overload
    @staticmethod
    def of(
        model: type[T],
        *,
        messages: object,
        principal: type[P2],
        context: Projection[T, Any] | None = None,
        name: str = "agent",
        version: str = "0.1.0",
    ) -> Contract[T, P2, Never, Never, Never]: ...
    @overload
    @staticmethod
    def of(
        model: type[T],
        *,
        messages: object,
        context: Projection[T, Any] | None = None,
        name: str = "agent",
        version: str = "0.1.0",
    ) -> Contract[T, None, Never, Never, Never]: ...
    @staticmethod
    def of(
        model: type[Any],  # Any: the overloads give the types
        *,
        messages: object,
        principal: type[Any] | None = None,
        context: Projection[Any, Any] | None = None,
        name: str = "agent",
        version: str = "0.1.0",
    ) -> Contract[Any, Any, Never, Never, Never]:
        """Begin a contract, which exposes nothing yet.

        Args:
            model: The class of the application's models, an attrs class.
            messages: The union of its messages, attrs classes whose names are their tags.
            principal: The class of whom calls are made for; the host then says who it is.
            context: What of the model agents see; nothing without it.
            name: The contract's name.
            version: Its version.

        Raises:
            ConstructionError: The model or a message is no attrs class, or the projection does not read such a model.
        """
        lines: list[str] = []
        if not (isinstance(model, type) and attrs.has(model)):  # pyright: ignore[reportUnnecessaryIsInstance] - past the types
            lines.append(f"the model, {name_of(model)}, is no attrs class{how_else(model)}")
        if not isinstance(name, str) or not NAME.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance] - as above
            lines.append("its name has 1 to 128 letters, digits, _ or -")
        if context is not None and not isinstance(context, Projection):  # pyright: ignore[reportUnnecessaryIsInstance] - as above
            lines.append("context is made by pick(…), compose(…) or struct(…)")
        where = caller_where()
        if lines:
            raise ConstructionError([Problem("CONTRACT", str(name)[:128], (*lines, str(where)))])
        return Contract(
            model=model,
            union=members_of(messages),
            principal=principal,
            name=name,
            version=version,
            context=None if context is None else context.reading(model),
            variants=(),
            declared=(),
            where=where,
        )

    @overload
    def variant(
        self,
        message: type[W],
        description: str,
        *,
        needs_approval: Literal[False] = False,
        **options: Unpack[VariantKeywords[W, M, P]],
    ) -> Contract[M, P, V | W, X | W, In]: ...
    @overload
    def variant(
        self,
        message: type[W],
        description: str,
        *,
        needs_approval: Literal[True],
        approval: Ask[W] | None = None,
        **options: Unpack[VariantKeywords[W, M, P]],
    ) -> Contract[M, P, V | W, X | W, In | Approval]: ...
    @overload
    def variant(
        self,
        message: type[W],
        description: str,
        *,
        input: type[I],
        to_message: Callable[[I, At[M, P]], W],
        needs_approval: Literal[False] = False,
        **options: Unpack[VariantKeywords[I, M, P]],
    ) -> Contract[M, P, V | W, X | I, In]: ...
    @overload
    def variant(
        self,
        message: type[W],
        description: str,
        *,
        input: type[I],
        to_message: Callable[[I, At[M, P]], W],
        needs_approval: Literal[True],
        approval: Ask[I] | None = None,
        **options: Unpack[VariantKeywords[I, M, P]],
    ) -> Contract[M, P, V | W, X | I, In | Approval]: ...
    def variant(
        self,
        message: type[Any],  # Any: the overloads give the types
        description: str,
        *,
        input: type[Any] | None = None,  # noqa: A002 - what the seed calls it
        to_message: Callable[[Any, Any], Any] | None = None,
        needs_approval: bool = False,
        approval: Ask[Any] | None = None,
        **options: Unpack[VariantKeywords[Any, Any, Any]],
    ) -> Contract[Any, Any, Any, Any, Any]:
        """Expose a message.

        Expose intents (a todo was requested), not facts (a todo was saved with this id): a fact holds what the
        application is to decide.

        Args:
            message: The message's class.
            description: What agents read.
            input: What agents give instead of the message's own fields; together with `to_message`.
            to_message: `(input, at) -> message`, where `at` has the snapshot, the principal and the invocation.
            needs_approval: Whether somebody has to say yes; the contract then needs `Approval`.
            approval: What that person is shown.
            options: Its name, its rules and what ends it; `VariantKeywords` has them one by one.

        Raises:
            ConstructionError: What is wrong with the variant by itself.
        """
        made = compile_variant(
            self.model,
            self.union,
            message,
            description,
            input=input,
            to_message=to_message,
            needs_approval=needs_approval,
            approval=approval,
            **options,
        )
        return self._with(made)

    def action(
        self,
        message: type[W],
        action: Action[I, W],
        *,
        available: Callable[[M], bool] | None = None,
        authorize: Callable[[Attempt[I, M, P]], Authorized] | None = None,
        execution: ExecutionClass = "uncertain",
    ) -> Contract[M, P, V | W, X | I, In]:
        """Expose an action that the application has declared already, under the message that it makes.

        Args:
            message: The message's class; a dispatch through an action that makes another one is a defect.
            action: The action; its name, description and input are taken over.
            available: As for `variant`.
            authorize: As for `variant`.
            execution: As for `variant`.

        Raises:
            ConstructionError: What is wrong with the variant by itself.
        """
        make = action.make
        return self._with(
            compile_variant(
                self.model,
                self.union,
                message,
                action.description,
                name=action.name,
                input=action.input,
                to_message=lambda given, _: make(given),
                available=available,
                authorize=cast("Callable[[Any], object] | None", authorize),
                execution=execution,
            )
        )

    def subset(
        self,
        messages: MessageSet[W],
        descriptions: Mapping[type[Any], str],  # Any: mypy finds no common type of the classes of a dict's keys
        *,
        available: Callable[[M], bool] | None = None,
    ) -> Contract[M, P, V | W, X | W, In]:
        """Expose a named set of messages as they are.

        Args:
            messages: The set.
            descriptions: For each of its messages, what agents read.
            available: Whether they are offered in a model.

        Raises:
            ConstructionError: The set belongs to another application, a message has no description, or what is wrong
                with a variant by itself.
        """
        check_subset(messages, self.union, descriptions)
        return self._with(
            *(
                compile_variant(self.model, self.union, one, descriptions[one], available=available)
                for one in messages.messages
            )
        )

    def resource(
        self,
        name: str,
        description: str,
        schema: type[T],
        read: Callable[[M], T],
        *,
        observes: tuple[str, ...] = (),
    ) -> Contract[M, P, V, X, In]:
        """Offer something to be read, apart from the context.

        Args:
            name: Its name; one called `context` takes the context's place.
            description: What it is.
            schema: The type of its value.
            read: Makes it of the model; pure.
            observes: Which paths of the model it looks at.

        Raises:
            ConstructionError: The name is no good or taken, or the type has no codec.
        """
        made = declared_resource(self.model, name, description, schema, read, observes, self.declared)
        return attrs.evolve(self, declared=(*self.declared, made))

    @overload
    def bind(
        self: Contract[M, None, V, X, Never],
        host: Host[M, V],
        *,
        audit: Audit | None = None,
        telemetry: Telemetry | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> BoundContract[V, X]: ...
    @overload
    def bind(
        self: Contract[M, P, V, X, Never],
        host: HostWithPrincipal[M, V, P],
        *,
        audit: Audit | None = None,
        telemetry: Telemetry | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> BoundContract[V, X]: ...
    def bind(
        self: AnyContract,
        host: Any,  # Any: the overloads say what it has to be
        *,
        audit: Audit | None = None,
        telemetry: Telemetry | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> BoundContract[Any, Any]:
        """Serve the contract over a live application; what is given is a surface for any protocol.

        A contract whose variants need services is served by a runtime: `rt.bind(contract, host)`.

        Args:
            host: The application.
            audit: Where decisions are recorded: `audit_log()`, or any `Audit`.
            telemetry: Where each attempt is told as the operation `Agent.dispatch`; an outer one without it.
            clock: Measures the deadlines and dates audit entries; the machine's own without one.
            ids: Names invocations that come without an id.

        Raises:
            ConstructionError: With everything that shows only now: names twice, a host that cannot report what a
                completion needs, a principal that nobody can tell, services that only a runtime has.
        """
        from lamina.contract._bound import BoundContract

        return BoundContract(self, Ground(host, audit=audit, telemetry=telemetry, clock=clock, ids=ids, name=self.name))

    def toolkit(self, host: type[H], *, audit: Audit | None = None) -> Toolkit[In | H]:
        """Make the contract an agent's toolkit: each capability a tool, over a host that a layer offers.

        A call is checked for availability and authorization before anybody is asked to approve it. It takes a fresh
        snapshot when its body starts, and is checked on that again, whatever has changed meanwhile. It uses the
        `Clock`, `Ids` and `Secrets` of the runtime that it runs in.

        Args:
            host: The application's own class of hosts: the service that the tools need.
            audit: Where decisions are recorded.

        Raises:
            ConstructionError: Two capabilities have one name, or a name is longer than the 64 characters of a tool.
        """
        from lamina.contract._toolkit import toolkit_of

        return cast("Toolkit[In | H]", toolkit_of(self, host, audit))

    def _with(self, *more: Variant) -> Contract[Any, Any, Any, Any, Any]:
        return attrs.evolve(self, variants=(*self.variants, *more))


AnyContract = Contract[Any, Any, Any, Any, Any]
