"""The suite that every `LanguageModel` passes, ours and yours (TEST-004, TEST-007)."""

from __future__ import annotations

import anyio
import attrs

from lamina.testing import _outcomes as it
from lamina.testing._probes import ANSWERS, probes_of
from lamina.testing._situations import ModelSituations


@attrs.frozen
class ModelReport:
    """What a suite has looked at.

    Attributes:
        checked: The situations that the model was brought into.
        left_out: Those that it was not, for its provider cannot produce them; a reader should know why.
    """

    checked: tuple[str, ...]
    left_out: tuple[str, ...]


class ModelConformanceError(AssertionError):
    """A model does not do what its port says; `problems` has every one, as `situation, probe: what`."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join((f"{len(problems)} problems", *problems)))
        self.problems = problems


async def check_language_model(situations: ModelSituations, *, patience: float = 10.0) -> ModelReport:
    """Hold a model to its port: bring it into every situation, whole and streamed, and look at all it owes.

    That is: a stream reduces to what a whole answer reduces to; parts come in order, with one finish, and none after
    the call; usage is there and adds up; what fails is a value with the right reason; a call that is cancelled, or
    whose `emit` raises, releases what it holds, and the next call works; calls do not mix; requests with another
    provider's metadata are served, and are not changed.

    Args:
        situations: How to bring the model there.
        patience: How many seconds one probe may take, before it counts as stuck.

    Returns:
        What was checked, and what was left out.

    Raises:
        ModelConformanceError: With every problem that was found.

    Example:
        >>> from lamina.testing import ModelSituations, Prepared, ScriptedModel, say
        >>> class Scripted(ModelSituations):
        ...     async def plain_text(self) -> Prepared:
        ...         return Prepared(ScriptedModel(*[say("Hello, world")] * 3), text="Hello, world")
        >>> anyio.run(check_language_model, Scripted()).checked
        ('plain_text',)
    """
    checked: list[str] = []
    left_out: list[str] = []
    problems: list[str] = []
    for name in (*ANSWERS, "hanging"):
        prepare = getattr(situations, name)
        if await prepare() is None:
            left_out.append(name)
            continue
        checked.append(name)
        for probe, run in probes_of(name):
            try:
                with anyio.fail_after(patience):
                    await run(situations, prepare)
                    it.require(await situations.released(), "something is still held after the call")
            except it.Broken as broken:
                problems.append(f"{name}, {probe}: {broken}")
            except TimeoutError:
                problems.append(f"{name}, {probe}: not done after {patience:g} s")
            except Exception as error:  # a model that raises breaks its port; go on and look at the rest
                problems.append(f"{name}, {probe}: it raised {type(error).__name__}")
    if problems:
        raise ModelConformanceError(tuple(problems))
    return ModelReport(tuple(checked), tuple(left_out))
