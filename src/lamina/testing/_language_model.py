"""The suite that every `LanguageModel` passes, ours and yours (TEST-004, TEST-007)."""

from __future__ import annotations

from lamina.testing._probes import ANSWERS, Prepare, Probe, probes_of
from lamina.testing._situations import ModelSituations
from lamina.testing._suite import ConformanceReport, Findings, require


async def check_language_model(situations: ModelSituations, *, patience: float = 10.0) -> ConformanceReport:
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
        ConformanceError: With every problem that was found.

    Example:
        >>> import anyio
        >>> from lamina.testing import ModelSituations, Prepared, ScriptedModel, say
        >>> class Scripted(ModelSituations):
        ...     async def plain_text(self) -> Prepared:
        ...         return Prepared(ScriptedModel(*[say("Hello, world")] * 3), text="Hello, world")
        >>> anyio.run(check_language_model, Scripted()).checked
        ('plain_text',)
    """
    findings = Findings(patience)
    for name in (*ANSWERS, "hanging"):
        prepare = getattr(situations, name)
        if await prepare() is None:
            findings.left_out.append(name)
            continue
        findings.checked.append(name)
        for probe, run in probes_of(name):

            async def try_it(run: Probe = run, prepare: Prepare = prepare) -> None:
                await run(situations, prepare)
                require(await situations.released(), "something is still held after the call")

            await findings.hold(f"{name}, {probe}", try_it)
    return findings.report()
