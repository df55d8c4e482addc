"""The public way to a model of OpenAI's, or of any server that speaks its API."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from typing import Never

import attrs

from lamina.effect import ConstructionError, Layer, scoped
from lamina.model import LanguageModel
from lamina.providers._wire import problems_of
from lamina.providers.openai._config import OpenAIConfig
from lamina.providers.openai._model import OpenAIModel
from lamina.providers.openai._transport import open_client
from lamina.schema import JsonValue


def openai_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    temperature: float | None = None,
    max_output_tokens: int | None = None,
    timeout: float = 60.0,
    structured_output: bool = True,
    strict: bool | None = None,
    extra: Mapping[str, JsonValue] | None = None,
) -> Layer[Never, LanguageModel, Never]:
    """Offer a model that is reached over the Chat Completions API.

    The SDK's own retries are off: the agent's policy is the only one (`model_retries`). The client is closed when
    the runtime is left. A server on this machine is reached without any proxy.

    Args:
        name: The model's name at the provider: `gpt-5`, `qwen3:8b`.
        base_url: Where the API is; without it `OPENAI_BASE_URL`, else OpenAI's own.
        api_key: The credential; without it `OPENAI_API_KEY`. Only servers other than OpenAI's may go without.
        temperature: `None` leaves it to the provider.
        max_output_tokens: The longest answer, in tokens.
        timeout: Seconds that may pass without a byte of the response.
        structured_output: Whether the provider takes a JSON Schema for the answer.
        strict: Whether schemas that can be strict are marked so; `None` means for OpenAI's own API alone.
        extra: More members of the request's body.

    Returns:
        A layer that offers `LanguageModel`; give it to `agent.on(...)`.

    Raises:
        ConstructionError: The SDK is missing, there is no key, or a setting makes no sense; the message has the line
            that mends it.

    Example:
        >>> openai_model("qwen3:8b", base_url="http://127.0.0.1:11434/v1")
        Layer(offers LanguageModel; needs nothing more)
    """
    url = base_url or os.environ.get("OPENAI_BASE_URL") or None
    config = OpenAIConfig(
        name,
        url,
        api_key or os.environ.get("OPENAI_API_KEY") or "",
        temperature,
        max_output_tokens,
        timeout,
        structured_output,
        strict,
        dict(extra or {}),
    )
    return openai_layer(config)


def openai_layer(config: OpenAIConfig) -> Layer[Never, LanguageModel, Never]:
    """Offer the model that a configuration value describes; `openai_model` reads the environment first.

    Raises:
        ConstructionError: The SDK is missing, there is no key, or a setting makes no sense.
    """
    if problems := problems_of(config, "openai", is_own=lambda: config.is_openai):
        raise ConstructionError(problems)
    # Servers that want no key are sent one all the same: the SDK cannot do without.
    known = config if config.api_key else attrs.evolve(config, api_key="none")

    async def openai() -> AsyncIterator[LanguageModel]:
        async with open_client(known) as client:
            yield OpenAIModel(known, client)

    return scoped(openai)
