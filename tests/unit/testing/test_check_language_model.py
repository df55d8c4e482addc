"""The conformance suite passes the scripted models, and catches each way of breaking the port."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import attrs
import pytest
from returns.result import Failure, Result, Success

from lamina.model import (
    Authentication,
    ConnectionLost,
    ContextOverflow,
    Emit,
    Finish,
    InvalidOutput,
    InvalidRequest,
    LanguageModel,
    ModelError,
    ModelRequest,
    ProviderDown,
    RateLimited,
    Reason,
    ResponsePart,
    Text,
    TimedOut,
    Unclassified,
    Unsupported,
    Usage,
)
from lamina.testing import (
    ConformanceError,
    ModelSituations,
    Prepared,
    ScriptedModel,
    Turn,
    call_tool,
    check_language_model,
    fail,
    hang,
    raw,
    say,
    think,
)

HELLO = "Hello, world: a text in several deltas"


def always(turn: Turn) -> ScriptedModel:
    return ScriptedModel(*[turn] * 9)


class Scripted(ModelSituations):
    """Every situation there is."""

    def __init__(self) -> None:
        self.models: list[ScriptedModel] = []

    def _keep(self, model: ScriptedModel) -> ScriptedModel:
        self.models.append(model)
        return model

    def _prepared(self, turn: Turn, **known: Any) -> Prepared:
        return Prepared(self._keep(always(turn)), **known)

    async def plain_text(self) -> Prepared | None:
        return self._prepared(say(HELLO), text=HELLO)

    async def empty(self) -> Prepared | None:
        return self._prepared(Turn(()))

    async def reasoning(self) -> Prepared | None:
        return self._prepared(think("hm") & say("so"), text="so")

    async def split_unicode(self) -> Prepared | None:
        return self._prepared(say("né 日本 🎉"), text="né 日本 🎉")

    async def usage_last(self) -> Prepared | None:
        return self._prepared(say("x").using(Usage(7, 3)), usage=Usage(7, 3))

    async def cached_usage(self) -> Prepared | None:
        cached = Usage(7, 3, cache_read_tokens=4)
        return self._prepared(say("x").using(cached), usage=cached)

    async def parallel_calls(self) -> Prepared | None:
        calls = (("add", '{"x":1,"y":2}'), ("lookup", '{"key":"abc"}'))
        return self._prepared(call_tool("add", x=1, y=2) & call_tool("lookup", key="abc"), calls=calls)

    async def text_and_call(self) -> Prepared | None:
        return self._prepared(say("x") & call_tool("add", x=1, y=2))

    async def structured_output(self) -> Prepared | None:
        return self._prepared(say('{"hello": "x"}'))

    async def malformed_arguments(self) -> Prepared | None:
        return self._prepared(call_tool("add", raw="{x:"), calls=(("add", "{x:"),))

    async def cut_arguments(self) -> Prepared | None:
        return self._prepared(call_tool("add", raw='{"x": 1').ending("length"))

    async def content_filter(self) -> Prepared | None:
        return self._prepared(say("x").ending("content-filter"))

    async def unauthorized(self) -> Prepared | None:
        return self._prepared(fail(Authentication()))

    async def rate_limited(self) -> Prepared | None:
        return self._prepared(fail(RateLimited(7.0)))

    async def server_error(self) -> Prepared | None:
        return self._prepared(fail(ProviderDown(500)))

    async def context_overflow(self) -> Prepared | None:
        return self._prepared(fail(ContextOverflow()))

    async def invalid_request(self) -> Prepared | None:
        return self._prepared(fail(InvalidRequest()))

    async def unreadable(self) -> Prepared | None:
        return self._prepared(fail(InvalidOutput()))

    async def error_midstream(self) -> Prepared | None:
        return self._prepared(say(HELLO).failing(ProviderDown(), after=2))

    async def no_connection(self) -> Prepared | None:
        return self._prepared(fail(ConnectionLost()))

    async def connection_lost(self) -> Prepared | None:
        return self._prepared(say(HELLO).failing(ConnectionLost(), after=2))

    async def timed_out(self) -> Prepared | None:
        return self._prepared(fail(TimedOut()))

    async def hanging(self) -> Prepared | None:
        return Prepared(self._keep(ScriptedModel(say(HELLO).hanging(after=2), say("back"))), text="back")

    async def released(self) -> bool:
        return not any(model.open_calls for model in self.models)


@pytest.mark.anyio
async def test_the_scripted_model_passes_every_situation() -> None:
    situations = Scripted()

    report = await check_language_model(situations)

    assert report.left_out == ()
    assert set(report.checked) == {
        name for name, value in vars(ModelSituations).items() if callable(value) and name not in ("released",)
    }
    assert len(situations.models) > 60


async def test_a_model_may_say_that_it_cannot_be_held_to_json() -> None:
    report = await check_language_model(
        only(structured_output=lambda: Prepared(always(fail(Unsupported("structured output")))))
    )

    assert report.checked == ("structured_output",)


async def test_what_a_provider_cannot_produce_is_listed() -> None:
    report = await check_language_model(ModelSituations())

    assert report.checked == ()
    assert "cached_usage" in report.left_out
    assert "hanging" in report.left_out


async def problems(situations: ModelSituations) -> str:
    with pytest.raises(ConformanceError) as raised:
        await check_language_model(situations, patience=2.0)
    assert str(raised.value).splitlines()[0] == f"{len(raised.value.problems)} problems"
    return "\n".join(raised.value.problems)


def only(**prepared: Callable[[], Prepared]) -> ModelSituations:
    situations = ModelSituations()
    for name, make in prepared.items():

        async def situation(make: Callable[[], Prepared] = make) -> Prepared:
            return make()

        setattr(situations, name, situation)
    return situations


@pytest.mark.parametrize(
    ("situation", "turn", "known", "problem"),
    [
        ("plain_text", say(HELLO).ending("length"), {}, "finish 'length' makes no answer"),
        ("plain_text", say(HELLO).using(None), {}, "there is no usage"),
        ("plain_text", say(HELLO), {"text": "other"}, "the text is not the expected one"),
        ("plain_text", say("short"), {}, "deltas: the text came in fewer than two deltas"),
        ("plain_text", say(HELLO), {"usage": Usage(1, 1)}, "the usage is not the expected one"),
        ("plain_text", raw(Text(HELLO)), {}, "the last part is no finish"),
        ("plain_text", raw(Text(HELLO), Finish("stop"), Finish("stop")), {}, "(after-finish)"),
        ("plain_text", raw(Finish("stop", Usage(-1, 1))), {}, "(usage)"),
        ("plain_text", fail(Authentication()), {}, "it failed: The model's provider did not accept"),
        ("empty", say("x"), {}, "the text is not empty"),
        ("reasoning", say("x"), {}, "there is no thought before the text"),
        ("parallel_calls", call_tool("add"), {}, "there are 1 calls, not 2"),
        ("parallel_calls", call_tool("add") & call_tool("add"), {"calls": ()}, "the calls are not the expected ones"),
        ("parallel_calls", say("x"), {}, "finish 'stop' makes no batch of calls"),
        ("text_and_call", call_tool("add") & say("x"), {}, "the text does not come first"),
        ("structured_output", say("{x"), {}, "the text is no JSON"),
        ("structured_output", fail(InvalidRequest()), {}, "it failed"),
        ("cut_arguments", call_tool("add", raw="{"), {}, "the finish does not say that the answer was cut off"),
        ("content_filter", say("x"), {}, "the finish does not name the filter"),
        ("content_filter", fail(InvalidRequest()), {}, "not ContentPolicy"),
        ("unauthorized", say("x"), {}, "it answered, and should have failed with Authentication"),
        ("unauthorized", fail(InvalidRequest()), {}, "not Authentication"),
        ("rate_limited", fail(RateLimited(8.0)), {}, "retry_after is not 7 seconds"),
        ("error_midstream", fail(Unclassified("KeyError")), {}, "not an error"),
        ("connection_lost", say("x").failing(ConnectionLost(), finished=True), {}, "had emitted a finish"),
        ("server_error", fail(ModelError(Unclassified("secret"), "secret")), {}, "quotes the provider"),
    ],
)
async def test_a_wrong_answer_is_caught(situation: str, turn: Turn, known: dict[str, Any], problem: str) -> None:
    found = await problems(only(**{situation: lambda: Prepared(always(turn), **known)}))

    assert f"{situation}, " in found
    assert problem in found


@attrs.define(slots=False)
class Wrapping(LanguageModel):
    """A correct model, for the broken ones to break one thing of."""

    inner: LanguageModel = attrs.field(factory=lambda: always(say(HELLO)))
    held: int = 0

    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        return await self.inner.generate(request)

    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        return await self.inner.stream(request, emit)


class Raises(Wrapping):
    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        raise ConnectionError("secret")


class FailsWithAnException(Wrapping):
    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        return Failure(ConnectionError("secret"))  # type: ignore[arg-type]


class SaysOtherwiseWhenStreaming(Wrapping):
    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        return await always(say(HELLO + "!")).stream(request, emit)


class SwallowsWhatEmitRaises(Wrapping):
    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        try:
            return await self.inner.stream(request, emit)
        except BaseException:
            return Success(None)


class WrapsWhatEmitRaises(Wrapping):
    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        answers: list[Result[None, ModelError]] = []

        async def run() -> None:
            answers.append(await self.inner.stream(request, emit))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
        return answers[0]


class EmitsOnAfterItRaised(Wrapping):
    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        raised: list[BaseException] = []

        def again(part: Any) -> None:
            try:
                emit(part)
            except BaseException as error:
                raised.append(error)

        answer = await self.inner.stream(request, again)
        if raised:
            raise raised[0]
        return answer


class HoldsOn(Wrapping):
    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        self.held += 1
        answer = await self.inner.stream(request, emit)
        self.held -= 1
        return answer


class Mixes(Wrapping):
    """Two calls at once share what should be the call's own."""

    busy: bool = False

    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        if self.busy:
            return Failure(ModelError(ProviderDown()))
        self.busy = True
        try:
            return await self.inner.stream(request, emit)
        finally:
            self.busy = False


class RaisesWhenBusy(Mixes):
    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        if self.busy:
            raise RuntimeError
        return await self.inner.generate(request)


class ChangesTheRequest(Wrapping):
    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        for message in request.messages:
            getattr(message, "metadata", {}).pop("elsewhere", None)
        return await self.inner.generate(request)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (Raises, "both ways: it raised ConnectionError"),
        (FailsWithAnException, "both ways: the failure is a ConnectionError, not a ModelError"),
        (SaysOtherwiseWhenStreaming, "both ways: a stream and a whole answer differ"),
        (SwallowsWhatEmitRaises, "emit raises: what emit raised at part 0 did not come out"),
        (WrapsWhatEmitRaises, "emit raises: what emit raised came out in a group"),
        (EmitsOnAfterItRaised, "emit raises: emit was called again after it had raised"),
        (HoldsOn, "emit raises: something is still held after emit had raised"),
        (Mixes, "calls at once: it failed"),
        (RaisesWhenBusy, "calls at once: it raised RuntimeError"),
        (ChangesTheRequest, "a long history: the request was changed"),
    ],
)
async def test_a_broken_port_is_caught(make: type[Wrapping], problem: str) -> None:
    held: list[Wrapping] = []

    def prepare() -> Prepared:
        held.append(make())
        return Prepared(held[-1])

    situations = only(plain_text=prepare)

    async def released() -> bool:
        return not any(model.held for model in held)

    situations.released = released  # type: ignore[method-assign]

    assert problem in await problems(situations)


class Deaf(Wrapping):
    """Takes a cancellation for an answer."""

    async def stream(self, request: ModelRequest, emit: Emit) -> Result[None, ModelError]:
        try:
            return await self.inner.stream(request, emit)
        except BaseException:
            return Failure(ModelError(ConnectionLost()))

    async def generate(self, request: ModelRequest) -> Result[Sequence[ResponsePart], ModelError]:
        try:
            return await self.inner.generate(request)
        except BaseException:
            return Failure(ModelError(ConnectionLost()))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Deaf(ScriptedModel(say(HELLO).hanging(after=2), say("x"))), "swallowed its cancellation"),
        (lambda: ScriptedModel(say(HELLO).hanging(after=2), fail(ProviderDown())), "it failed"),
        (lambda: ScriptedModel(say(HELLO).failing(ProviderDown(), after=0), say("x")), "the call ended by itself"),
        (lambda: ScriptedModel(say(HELLO).hanging(after=2)), "it raised ScriptMismatch"),
        (lambda: Raises(ScriptedModel(hang(), hang())), "while generating: it raised ConnectionError"),
    ],
)
async def test_a_cancellation_that_is_not_a_close_is_caught(make: Callable[[], LanguageModel], problem: str) -> None:
    assert problem in await problems(only(hanging=lambda: Prepared(make())))


async def test_a_model_that_is_stuck_does_not_hold_the_suite() -> None:
    situations = only(plain_text=lambda: Prepared(always(hang())), empty=lambda: Prepared(always(Turn(()))))

    with pytest.raises(ConformanceError) as raised:
        await check_language_model(situations, patience=0.05)

    assert "plain_text, both ways: not done after 0.05 s" in raised.value.problems
    assert not any(problem.startswith("empty") for problem in raised.value.problems)


def test_reasons_are_all_of_the_ports() -> None:
    """A situation per reason that a provider sends; the others are the adapter's own words."""
    own = {"PermissionDenied", "QuotaExhausted", "UnknownModel", "Unsupported", "Unclassified", "ContentPolicy"}
    sent = {"Authentication", "RateLimited", "ProviderDown", "ContextOverflow", "InvalidRequest", "InvalidOutput"}

    assert {reason.__name__ for reason in Reason.__args__} == own | sent | {"ConnectionLost", "TimedOut"}
