"""The runtime: services that are up, and the one place that runs handlers and agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Never, TypeVar, overload

from returns.result import Failure, Result

from lamina.agent import Binding
from lamina.call import DEFAULT_RESULT_BYTES
from lamina.conversation import ConversationError, History, NotSuspended, Record
from lamina.effect import (
    ConstructionError,
    Handler,
    Layer,
    Plan,
    Problem,
    Seeds,
    caller_where,
)
from lamina.engine import (
    Completed,
    Decisions,
    Emitter,
    EventLog,
    Given,
    Run,
    RunCause,
    RunFailure,
    RunHandle,
    RunSuspended,
    Sink,
    clean_history,
    interpret,
    interpret_resumed,
    run_to_end,
)
from lamina.runtime._binds import BindsContracts, BindsContractsFor
from lamina.runtime._conversing import Busy, Keeper, Place, check_busy, enter_conversation, take_up
from lamina.runtime._core import Core
from lamina.runtime._saying import SpeaksToRuns
from lamina.runtime._suspended import suspended_in

if TYPE_CHECKING:
    from lamina.call import Caller, Surface
    from lamina.runtime._changes import Changes
    from lamina.runtime._offers import OfferedPrompt, OfferedResource
    from lamina.tools import Tools

Have = TypeVar("Have", contravariant=True)
S = TypeVar("S")
Seeded = TypeVar("Seeded")
Cmd = TypeVar("Cmd")
Ret = TypeVar("Ret")
I = TypeVar("I")  # noqa: E741 - the input
O = TypeVar("O")  # noqa: E741 - the output


class Runtime(BindsContracts[Have], SpeaksToRuns):
    """Runs handlers and agents whose needs it has; made by `build` and `try_build`.

    `Have` is the union of the services it offers: running what needs another one is a type error, and what the types
    cannot see is a `ConstructionError` before anything runs.
    """

    __slots__ = ("_core", "_given")

    def __init__(self, core: Core, given: Given) -> None:
        self._core = core
        self._given = given

    @property
    def plan(self) -> Plan:
        """The plan that this runtime was built from."""
        return self._core.plan

    @overload
    async def run(self, program: Handler[Have, Cmd, Ret], command: Cmd, /) -> Ret: ...
    @overload
    async def run(
        self,
        program: Binding[Have, I, O],
        command: I,
        /,
        *,
        history: History | None = None,
        conversation: str | None = None,
        principal: str | None = None,
        busy: Busy = "reject",
    ) -> Result[Completed[O], RunFailure]: ...
    async def run(
        self,
        program: Handler[Have, Any, Any] | Binding[Have, Any, Any],
        command: Any,
        /,
        *,
        history: History | None = None,
        conversation: str | None = None,
        principal: str | None = None,
        busy: Busy = "reject",
    ) -> Any:  # Any: the overloads say what each program gives
        """Run a handler with a command, or an agent with its input, to its end.

        One handler call is one request: its request-life services are made for it and released after it, and a
        `Failure` is thrown into them, so that a transaction rolls back. An agent's run is no request; each of its
        tool calls is one.

        Args:
            program: The handler, or the agent with its model.
            command: The handler's command, or the agent's input.
            history: For an agent: what was said before; `completed.report.history` of an earlier run, say.
            conversation: For an agent: the conversation to go on with, or to begin; needs `Conversations`.
            principal: For an agent: on whose behalf; a conversation is its principal's.
            busy: For an agent: what to do while another run has the conversation. `reject` fails with
                `ConversationBusy`, `queue` waits (the wait counts against `max_duration`), `steer` gives the input to
                the active run and fails with `Steered`, which has the receipt, `fork` goes its own way.

        Returns:
            The handler's own answer; for an agent `Success(Completed)` or `Failure(RunFailure)`.

        Raises:
            ConstructionError: The program was not registered, and needs what the runtime does not have.
        """
        core = self._core
        if isinstance(program, Handler):
            compiled = core.handlers.get(program) or await core.handler(program)
            return await compiled(command, self._given)
        run, place = await self._new_run(program, history, conversation, principal, busy)
        return await self._to_end(run, place, command)

    def start(
        self,
        binding: Binding[Have, I, O],
        given: I,
        /,
        *,
        history: History | None = None,
        conversation: str | None = None,
        principal: str | None = None,
        busy: Busy = "reject",
    ) -> RunHandle[O]:
        """Start an agent and hold it: observe its events, interrupt it, read its history at any time.

        Args:
            binding: The agent with its model.
            given: The agent's input.
            history: What was said before.
            conversation: The conversation to go on with; needs `Conversations`.
            principal: On whose behalf.
            busy: What to do while another run has the conversation; see `run`.

        Returns:
            A handle, to be entered with `async with`.
        """
        places: list[Place | None] = []

        async def prepare_run(log: EventLog) -> Run:
            run, place = await self._new_run(binding, history, conversation, principal, busy, log.append)
            places.append(place)
            return run

        async def work(run: Run) -> Result[Completed[Any], RunFailure]:
            return await self._to_end(run, places[0], given)

        return RunHandle(prepare_run, work)

    async def resume(
        self,
        binding: Binding[Have, I, O],
        suspended: RunSuspended,
        decisions: Decisions | None = None,
        /,
        *,
        principal: str | None = None,
    ) -> Result[Completed[O], RunFailure]:
        """Go on with a suspended run, in this process or another one over the same store.

        The batch that waits is replayed as it was declared, and the model is not asked again for it. Decisions that
        were recorded meanwhile count before those given here. Of any number that resume one suspension exactly one goes
        on; the others get `AlreadyDecided`, and run nothing.

        Args:
            binding: The same agent.
            suspended: The reference.
            decisions: By call id, what was decided.
            principal: On whose behalf the conversation is.

        Returns:
            As `run`; `RunSuspended` again where calls are still undecided, and then nothing has changed.

        Raises:
            ConstructionError: The runtime has no `Conversations`, or the suspension is another agent's.
        """
        run, place = await self._suspended_run(binding, suspended, principal)
        return await self._resumed_to_end(run, place, suspended, {} if decisions is None else decisions)

    def start_resumed(
        self,
        binding: Binding[Have, I, O],
        suspended: RunSuspended,
        decisions: Decisions | None = None,
        /,
        *,
        principal: str | None = None,
    ) -> RunHandle[O]:
        """Go on with a suspended run and hold it: `resume`, as `start` is to `run`.

        Args:
            binding: The same agent.
            suspended: The reference.
            decisions: By call id, what was decided.
            principal: On whose behalf the conversation is.

        Returns:
            A handle, to be entered with `async with`; entering it raises what `resume` raises.
        """
        places: list[Place] = []

        async def prepare_run(log: EventLog) -> Run:
            run, place = await self._suspended_run(binding, suspended, principal, log.append)
            places.append(place)
            return run

        async def work(run: Run) -> Result[Completed[Any], RunFailure]:
            return await self._resumed_to_end(run, places[0], suspended, {} if decisions is None else decisions)

        return RunHandle(prepare_run, work)

    async def _suspended_run(
        self,
        binding: Binding[Any, Any, Any],
        suspended: RunSuspended,
        principal: str | None,
        sink: Sink | None = None,
    ) -> tuple[Run, Place]:
        run, place = await self._new_run(
            binding, None, suspended.conversation, principal, "reject", sink, run=suspended.run
        )
        assert place is not None
        if suspended.agent != binding.agent.id:
            lines = (f'agent "{binding.agent.id}"  {caller_where()}', f'it was suspended by agent "{suspended.agent}"')
            raise ConstructionError([Problem("RESUME", suspended.run, lines, "give the binding of that agent")])
        return run, place

    async def _resumed_to_end(
        self, run: Run, place: Place, suspended: RunSuspended, given: Decisions
    ) -> Result[Completed[Any], RunFailure]:
        core = self._core
        keeper = Keeper(run, run.prepared.clock)

        async def work() -> Result[Completed[Any], RunCause]:
            taken = await take_up(run, place, suspended, given, core.see_through)
            if isinstance(taken, Failure):
                return Failure(taken.failure())
            up = taken.unwrap()
            keeper.begin()
            run.author = place.principal
            return await interpret_resumed(run, up.resumed, up.response, up.given, given, suspended.shown())

        try:
            return await run_to_end(run, work, core.settle, suspended.conversation)
        finally:
            await keeper.end()

    async def suspended(
        self, binding: Binding[Have, Any, Any], conversation: str, /, *, principal: str | None = None
    ) -> Result[RunSuspended, ConversationError | NotSuspended]:
        """Make the reference of the run that a conversation waits for, of what its store holds: nothing else is needed.

        When to use: the process that resumes a run was handed the conversation's id, and no `RunSuspended`.

        Args:
            binding: The agent that is to go on.
            conversation: The conversation's id.
            principal: On whose behalf it is.

        Returns:
            The reference, for `resume`; its `waiting` are the calls that nobody has decided. `NotSuspended` where the
            conversation waits for nobody.

        Raises:
            ConstructionError: The runtime has no `Conversations`.
        """
        run, place = await self._new_run(binding, None, conversation, principal, "reject")
        assert place is not None
        return await suspended_in(place.conversations, conversation, principal, binding.agent.id, run.prepared.clock)

    def surface(
        self,
        program: Tools[Have] | Binding[Have, Any, Any],
        /,
        *,
        name: str | None = None,
        version: str = "0.1.0",
        description: str = "",
        resources: Sequence[OfferedResource] = (),
        prompts: Sequence[OfferedPrompt] = (),
        changes: Changes | None = None,
        result_bytes: int = DEFAULT_RESULT_BYTES,
        list_all: bool = False,
        read_tools: bool = False,
        inline_defs: bool = False,
    ) -> Surface:
        """Offer a toolkit, or an agent, to callers from outside; `lamina.adapters` serves it (design §7).

        A call is one request of this runtime, and goes through the stages of an agent's call: resolve, available,
        decode, authorize, approve, permit, execute, encode, redact, bound. Aborting its invocation cancels the
        handler. Handlers that take a `Caller` get that of each call, where it is a seed of the runtime.

        Args:
            program: The toolkit, or the agent with its model.
            name: What it is called on the wire; `lamina`, or the agent's id, without it.
            version: Its version.
            description: For an agent: what its capability says of itself.
            resources: What can be read, made with `@resource(...)`, templates too.
            prompts: What a person may begin with, made with `@prompt(...)`; an agent brings its instructions.
            changes: What the application announces changes with.
            result_bytes: The bound of a result's JSON; one that is `Contents` may have 4 MiB.
            list_all: For hosts that list once; see `lamina.call.presented`.
            read_tools: For hosts that read no resources; see there.
            inline_defs: For hosts that do not follow references; see there.

        Raises:
            ConstructionError: It needs what the runtime does not have, every service at once.

        Example:
            >>> import anyio
            >>> from lamina.call import Invocation, NoCaller
            >>> from lamina.effect import empty_layer
            >>> from lamina.runtime import build
            >>> from lamina.tools import tool
            >>> @tool.simple
            ... async def add(a: int, b: int) -> int:
            ...     '''Add two numbers.'''
            ...     return a + b
            >>> async def main() -> None:
            ...     async with build(empty_layer()) as rt:
            ...         surface = rt.surface(add, name="sums")
            ...         print(await surface.invoke("add", {"a": 1, "b": 2}, Invocation.new(), NoCaller()))
            >>> anyio.run(main)
            ToolSuccess(value=3)
        """
        from lamina.runtime._surface import make_surface, options_of  # who serves nothing does not pay for it

        options = options_of(
            name=name,
            version=version,
            description=description,
            resources=resources,
            prompts=prompts,
            changes=changes,
            result_bytes=result_bytes,
            list_all=list_all,
            read_tools=read_tools,
            inline_defs=inline_defs,
        )
        return make_surface(self._core, self._given, program, options)

    async def _to_end(self, run: Run, place: Place | None, given: object) -> Result[Completed[Any], RunFailure]:
        core = self._core
        if place is None:
            enter = None if run.journal is None else run.open
            return await run_to_end(run, lambda: interpret(run, given, enter), core.settle)
        keeper = Keeper(run, run.prepared.clock)

        async def move_in(opening: tuple[Record, ...]) -> RunCause | None:
            refused = await enter_conversation(run, place, opening, core.lanes, core.see_through)
            if refused is None:
                keeper.begin()
            return refused

        try:
            return await run_to_end(run, lambda: interpret(run, given, move_in), core.settle, place.conversation)
        finally:
            await keeper.end()

    async def _new_run(
        self,
        binding: Binding[Any, Any, Any],
        history: History | None,
        conversation: str | None,
        principal: str | None,
        busy: Busy,
        sink: Sink | None = None,
        run: str | None = None,
    ) -> tuple[Run, Place | None]:
        core = self._core
        prepared = core.agents.get(binding) or await core.agent(binding)
        await prepared.admit(None, ())
        place: Place | None = None
        if conversation is not None:
            check_busy(busy)
            if prepared.conversations is None:
                lines = (f'agent "{binding.agent.id}" (conversation=)  {caller_where()}',)
                write = '| stored_conversations() | sqlite_store("lamina.db")'
                raise ConstructionError([Problem("MISSING", "Conversations", lines, write)])
            if history is not None:
                lines = (f"a conversation has its own history  {caller_where()}",)
                raise ConstructionError([Problem("HISTORY", str(conversation)[:80], lines, "leave history= out")])
            if busy == "steer" and prepared.steering is None:
                lines = (f'agent "{binding.agent.id}" (busy="steer")  {caller_where()}',)
                write = '| memory_steering(), or | stored_steering() | sqlite_store("lamina.db")'
                raise ConstructionError([Problem("MISSING", "Steering", lines, write)])
            place = Place(
                conversations=prepared.conversations,
                conversation=conversation,
                principal=principal,
                busy=busy,
                said=core.said,
            ).without(prepared.secrets)
            conversation = place.conversation
        elif prepared.defers:
            lines = (f'agent "{binding.agent.id}" has decisions that may come later  {caller_where()}',)
            raise ConstructionError([Problem("MISSING", "conversation=", lines, 'rt.run(..., conversation="...")')])
        run_id = run or prepared.ids.new("run")
        emit = None if sink is None else Emitter(sink, run_id, conversation, binding.agent.id, prepared.clock)
        said = None if history is None else clean_history(prepared.secrets, history)
        made = Run(run_id, prepared, self._given, said, emit)
        made.author = principal
        if place is not None:
            made.journal = None  # until it has its conversation, whose log is its journal
        return made, place


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
        *,
        name: str | None = None,
        version: str = "0.1.0",
        description: str = "",
        resources: Sequence[OfferedResource] = (),
        prompts: Sequence[OfferedPrompt] = (),
        changes: Changes | None = None,
        result_bytes: int = DEFAULT_RESULT_BYTES,
        list_all: bool = False,
        read_tools: bool = False,
        inline_defs: bool = False,
    ) -> Surface: ...
    @overload
    def surface(
        self: Open[Have, Caller | S],
        program: Tools[Have | Caller | S] | Binding[Have | Caller | S, Any, Any],
        /,
        *,
        given: Layer[Never, S, Never],
        name: str | None = None,
        version: str = "0.1.0",
        description: str = "",
        resources: Sequence[OfferedResource] = (),
        prompts: Sequence[OfferedPrompt] = (),
        changes: Changes | None = None,
        result_bytes: int = DEFAULT_RESULT_BYTES,
        list_all: bool = False,
        read_tools: bool = False,
        inline_defs: bool = False,
    ) -> Surface: ...
    def surface(
        self,
        program: Tools[Any] | Binding[Any, Any, Any],
        /,
        *,
        given: Layer[Never, Any, Never] | None = None,
        name: str | None = None,
        version: str = "0.1.0",
        description: str = "",
        resources: Sequence[OfferedResource] = (),
        prompts: Sequence[OfferedPrompt] = (),
        changes: Changes | None = None,
        result_bytes: int = DEFAULT_RESULT_BYTES,
        list_all: bool = False,
        read_tools: bool = False,
        inline_defs: bool = False,
    ) -> Surface:
        """Offer a toolkit, or an agent, whose handlers may take a `Caller`; see `Runtime.surface`.

        Each call brings its own `Caller`. The values of the other seeds are given once, for all calls: make a surface
        for each caller where they differ from one to the next, which acquires nothing.

        Args:
            program: The toolkit, or the agent with its model.
            given: The values of the other seeds: `bind(Principal).value(p)`.
            name: What it is called on the wire; `lamina`, or the agent's id, without it.
            version: Its version.
            description: For an agent: what its capability says of itself.
            resources: What can be read, made with `@resource(...)`, templates too.
            prompts: What a person may begin with, made with `@prompt(...)`; an agent brings its instructions.
            changes: What the application announces changes with.
            result_bytes: The bound of a result's JSON; one that is `Contents` may have 4 MiB.
            list_all: For hosts that list once; see `lamina.call.presented`.
            read_tools: For hosts that read no resources; see there.
            inline_defs: For hosts that do not follow references; see there.

        Raises:
            ConstructionError: It needs what the runtime does not have, or a seed has no value.
        """
        from lamina.runtime._surface import make_surface, options_of, seeds_of_surface  # as in `Runtime.surface`

        options = options_of(
            name=name,
            version=version,
            description=description,
            resources=resources,
            prompts=prompts,
            changes=changes,
            result_bytes=result_bytes,
            list_all=list_all,
            read_tools=read_tools,
            inline_defs=inline_defs,
        )
        return make_surface(self._core, seeds_of_surface(self._seeds, given), program, options)
