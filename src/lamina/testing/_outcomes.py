"""Ask a model both ways, and judge what came: the vocabulary of the conformance suite's checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
import orjson
from returns.result import Failure

from lamina.model import (
    AssistantMessage,
    ContentPolicy,
    Finish,
    LanguageModel,
    ModelError,
    ModelRequest,
    ModelResponse,
    RateLimited,
    Reasoning,
    StreamPart,
    Text,
    Unclassified,
    Unsupported,
    check_finish,
    reduce,
)
from lamina.testing._situations import Prepared
from lamina.testing._suite import Broken, require

Outcome: TypeAlias = ModelResponse | ModelError
Judge: TypeAlias = Callable[[Prepared, Outcome], None]


async def ask_whole(model: LanguageModel, request: ModelRequest) -> Outcome:
    """Ask for whole parts and reduce them."""
    before = repr(request)
    answered = await model.generate(request)
    require(repr(request) == before, "the request was changed")
    if isinstance(answered, Failure):
        return _checked(answered.failure())
    parts = answered.unwrap()
    require(bool(parts) and isinstance(parts[-1], Finish), "the last part is no finish")
    return _reduced(parts)


async def ask_streamed(model: LanguageModel, request: ModelRequest, parts: list[StreamPart] | None = None) -> Outcome:
    """Ask for a stream and reduce it; `parts` receives what was emitted."""
    kept: list[StreamPart] = [] if parts is None else parts
    before = repr(request)
    answered = await model.stream(request, kept.append)
    require(repr(request) == before, "the request was changed")
    if isinstance(answered, Failure):
        require(not any(isinstance(part, Finish) for part in kept), "a stream that failed had emitted a finish")
        return _checked(answered.failure())
    require(answered.unwrap() is None, "a stream answered with something beside its parts")
    require(bool(kept) and isinstance(kept[-1], Finish), "the last part is no finish")
    return _reduced(kept)


def _checked(error: object) -> ModelError:
    if not isinstance(error, ModelError):
        raise Broken(f"the failure is a {type(error).__name__}, not a ModelError")
    require(error.detail not in str(error) or not error.detail, "the error's message quotes the provider")
    return error


def _reduced(parts: Any) -> ModelResponse:  # the model under test may answer with anything
    reduced = reduce(parts)
    if isinstance(reduced, Failure):
        raise Broken(str(reduced.failure()))
    return reduced.unwrap()


def without_metadata(response: ModelResponse) -> ModelResponse:
    """Take the provider's own notes off: a whole answer and a stream may carry different ones."""
    parts = tuple([attrs.evolve(part, metadata={}) for part in response.message.parts])
    calls = tuple([attrs.evolve(call, metadata={}) for call in response.calls])
    return attrs.evolve(response, message=AssistantMessage(parts), calls=calls, metadata={})


def answers(prepared: Prepared, outcome: Outcome) -> None:
    """Demand a final answer with usage."""
    response = _response(prepared, outcome)
    require(check_finish(response).value_or(None) == "answer", f"finish {response.finish!r} makes no answer")
    if prepared.text is not None:
        require(response.text == prepared.text, f"the text is not the expected one: {response.text!r}")


def answers_empty(prepared: Prepared, outcome: Outcome) -> None:
    """Demand an answer without text."""
    answers(prepared, outcome)
    require(_response(prepared, outcome).text == "", "the text is not empty")


def answers_json(prepared: Prepared, outcome: Outcome) -> None:
    """Demand JSON, or a plain word that the model cannot be held to it."""
    if isinstance(outcome, ModelError) and isinstance(outcome.reason, Unsupported):
        return
    answers(prepared, outcome)
    try:
        orjson.loads(_response(prepared, outcome).text)
    except orjson.JSONDecodeError:
        raise Broken("the text is no JSON") from None


def reasons(prepared: Prepared, outcome: Outcome) -> None:
    """Demand a thought before the text."""
    answers(prepared, outcome)
    kinds = [type(part) for part in _response(prepared, outcome).message.parts]
    require(kinds[:1] == [Reasoning] and Text in kinds, "there is no thought before the text")


def calls(least: int) -> Judge:
    """Demand a batch of calls, with usage."""

    def judge(prepared: Prepared, outcome: Outcome) -> None:
        response = _response(prepared, outcome)
        require(check_finish(response).value_or(None) == "calls", f"finish {response.finish!r} makes no batch of calls")
        require(len(response.calls) >= least, f"there are {len(response.calls)} calls, not {least}")
        if prepared.calls is not None:
            got = tuple([(call.name, call.arguments) for call in response.calls])
            require(got == prepared.calls, f"the calls are not the expected ones: {got!r}")

    return judge


def calls_after_text(prepared: Prepared, outcome: Outcome) -> None:
    """Demand a text, then one call."""
    calls(1)(prepared, outcome)
    require(isinstance(_response(prepared, outcome).message.parts[0], Text), "the text does not come first")


def is_cut(prepared: Prepared, outcome: Outcome) -> None:
    """Demand a response that says that it was cut off, so that nothing of it runs."""
    require(_response(prepared, outcome).finish == "length", "the finish does not say that the answer was cut off")


def is_filtered(_: Prepared, outcome: Outcome) -> None:
    """Demand that the filter is named, as a finish or as an error."""
    if isinstance(outcome, ModelError):
        require(isinstance(outcome.reason, ContentPolicy), f"the reason is {outcome.reason!r}, not ContentPolicy")
    else:
        require(outcome.finish == "content-filter", "the finish does not name the filter")


def fails(*reasons: type) -> Judge:
    """Demand an error of one of these reasons; none means any that the adapter knows."""

    def judge(_: Prepared, outcome: Outcome) -> None:
        names = " or ".join(reason.__name__ for reason in reasons) or "an error"
        if isinstance(outcome, ModelResponse):
            raise Broken(f"it answered, and should have failed with {names}")
        right = isinstance(outcome.reason, reasons) if reasons else not isinstance(outcome.reason, Unclassified)
        require(right, f"the reason is {outcome.reason!r}, not {names}")

    return judge


def fails_limited(prepared: Prepared, outcome: Outcome) -> None:
    """Demand the provider's own waiting time."""
    fails(RateLimited)(prepared, outcome)
    require(isinstance(outcome, ModelError) and outcome.retry_after == 7.0, "retry_after is not 7 seconds")


def _response(prepared: Prepared, outcome: Outcome) -> ModelResponse:
    if isinstance(outcome, ModelError):
        raise Broken(f"it failed: {outcome} {outcome.detail}")
    require(outcome.usage is not None, "there is no usage")
    if prepared.usage is not None:
        require(outcome.usage == prepared.usage, f"the usage is not the expected one: {outcome.usage!r}")
    return outcome
