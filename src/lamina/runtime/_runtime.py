"""The runtime: services that are up, and the one place that runs handlers and agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from returns.result import Result

from lamina.agent import Binding
from lamina.conversation import ConversationError, History, NotSuspended
from lamina.effect import Handler, Plan
from lamina.engine import Completed, Decisions, EventLog, Given, Run, RunFailure, RunHandle, RunSuspended
from lamina.runtime._binds import BindsContracts
from lamina.runtime._core import Core
from lamina.runtime._place import Busy, Place
from lamina.runtime._running import new_run, resumed_to_end, start_run, suspended_run, to_end
from lamina.runtime._saying import SpeaksToRuns
from lamina.runtime._suspended import suspended_in

if TYPE_CHECKING:
    from typing import Unpack

    from lamina.call import Surface
    from lamina.runtime._keywords import SurfaceKeywords
    from lamina.tools import Tools

Have = TypeVar("Have", contravariant=True)
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
                `ConversationBusy`, `queue` waits for as long as it takes (`max_duration` counts from when it has the
                conversation), `steer` gives the input to the active run and fails with `Steered`, which has the
                receipt, `fork` goes its own way.

        Returns:
            The handler's own answer; for an agent `Success(Completed)` or `Failure(RunFailure)`.

        Raises:
            ConstructionError: The program was not registered, and needs what the runtime does not have.
        """
        core = self._core
        if isinstance(program, Handler):
            compiled = core.handlers.get(program) or await core.handler(program)
            return await compiled(command, self._given)
        run, place = await new_run(
            core, self._given, program, history=history, conversation=conversation, principal=principal, busy=busy
        )
        return await to_end(core, run, place, command)

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
        return start_run(
            self._core,
            self._given,
            binding,
            given,
            history=history,
            conversation=conversation,
            principal=principal,
            busy=busy,
        )

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
        run, place = await suspended_run(self._core, self._given, binding, suspended, principal)
        return await resumed_to_end(self._core, run, place, suspended, decisions)

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
        core, places = self._core, list[Place]()

        async def prepare_run(log: EventLog) -> Run:
            run, place = await suspended_run(core, self._given, binding, suspended, principal, log.append)
            places.append(place)
            return run

        async def work(run: Run) -> Result[Completed[Any], RunFailure]:
            return await resumed_to_end(core, run, places[0], suspended, decisions)

        return RunHandle(prepare_run, work)

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
        run, place = await new_run(self._core, self._given, binding, conversation=conversation, principal=principal)
        assert place is not None
        return await suspended_in(place.conversations, conversation, principal, binding.agent.id, run.prepared.clock)

    def surface(self, program: Tools[Have] | Binding[Have, Any, Any], /, **options: Unpack[SurfaceKeywords]) -> Surface:
        """Offer a toolkit, or an agent, to callers from outside; `lamina.adapters` serves it (design §7).

        A call is one request of this runtime, and goes through the stages of an agent's call: resolve, available,
        decode, authorize, approve, permit, execute, encode, redact, bound. Aborting its invocation cancels the
        handler. Handlers that take a `Caller` get that of each call, where it is a seed of the runtime.

        Args:
            program: The toolkit, or the agent with its model.
            options: What it is called, and what goes with it; `SurfaceKeywords` has them one by one.

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
        from lamina.runtime._keywords import SurfaceOptions  # who serves nothing does not pay for it
        from lamina.runtime._surface import make_surface

        return make_surface(self._core, self._given, program, SurfaceOptions(**options))
