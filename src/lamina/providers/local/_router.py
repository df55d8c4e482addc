"""Which tool a request asks for: the one under which the model finds the request's own words most likely.

A model of this size cannot be asked to choose: whatever it is shown, it says what is likely in itself. So the question
is turned round. For every tool, and for plain talk, the model is told that somebody asks for this, and says how likely
the request's words then are. `benchmarks/local_model.py` holds this against the other ways that were tried.
"""

from __future__ import annotations

from collections.abc import Sequence

from lamina.model import ToolSpec
from lamina.providers.local._llama import Llama
from lamina.providers.local._schema import Parameter, parameters_of
from lamina.providers.local._values import paths_in, values_of, without_paths
from lamina.providers.local._words import overlaps

MOST_WORDS = 32
"""How many words of a request are looked at."""

TALK = "Talk with the user: greetings, thanks, jokes, poems, general knowledge."

# Found on requests and tools that are in no published figure; a wide range of each does as well.
_LIKELIHOOD = 0.5
_WORDS = 1.0
_FITS = 2.0
_CANNOT = -1000.0


async def choose(
    llama: Llama, request: str, tools: Sequence[ToolSpec], known: Sequence[str] = (), *, must: bool = False
) -> ToolSpec | None:
    """Choose a tool, or none.

    Args:
        llama: The model.
        request: What is asked for, best in one sentence.
        tools: What there is to choose from.
        known: Paths that earlier results named.
        must: Whether a tool has to be chosen.

    Returns:
        The tool; `None` where the request is talk.
    """
    asked = " ".join(request.split()[:MOST_WORDS])
    spoken = without_paths(asked)
    shared = overlaps(spoken, [_described(tool) for tool in tools])
    possible = [
        (tool, _WORDS * words + fit)
        for tool, words in zip(tools, shared, strict=True)
        if (fit := _fit(tool, asked, known)) > _CANNOT or must
    ]
    if not possible or not asked:
        return None
    tokens = await llama.tokens(f" {spoken}")
    chosen, best = None, _CANNOT * 10 if must else _LIKELIHOOD * await llama.likelihood(context(TALK), tokens)
    for tool, score in possible:
        score += _LIKELIHOOD * await llama.likelihood(context(tool.description or tool.name), tokens)
        if score > best:
            chosen, best = tool, score
    return chosen


def context(task: str) -> str:
    """Give the words before a request that asks for a task."""
    short = task.strip().partition("\n")[0].replace("_", " ").rstrip(".")
    return f"A user asks an assistant to do this: {short[:1].lower()}{short[1:200]}.\nThe user says:"


def _described(tool: ToolSpec) -> str:
    parameters = (f"{parameter.name} {parameter.about} {_named(parameter)}" for parameter in parameters_of(tool))
    return " ".join((tool.name.replace("_", " "), tool.description, *parameters))


def _named(parameter: Parameter) -> str:
    return " ".join(choice for choice in parameter.choices if isinstance(choice, str))


def _fit(tool: ToolSpec, request: str, known: Sequence[str]) -> float:
    """Say how well the request has what the tool requires: a number, a path, one of the words to choose from."""
    fit = 0.0
    for parameter in parameters_of(tool):
        values = values_of(parameter, request, known)
        if parameter.kind in ("number", "path") and not values:
            return _CANNOT
        if parameter.kind == "path" and paths_in(request):
            fit += _FITS
        if parameter.kind == "choice" and len(values) < len(parameter.choices):
            fit += _FITS
    return fit
