"""The public way to a model of Anthropic's, or of any server that speaks its API."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from typing import Never

import attrs

from lamina.effect import ConstructionError, Layer, Problem, caller_where, scoped
from lamina.model import LanguageModel
from lamina.providers._wire import problems_of
from lamina.providers.anthropic._config import AnthropicConfig
from lamina.providers.anthropic._model import AnthropicModel
from lamina.providers.anthropic._transport import open_client
from lamina.schema import JsonValue


def anthropic_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    temperature: float | None = None,
    max_output_tokens: int = 4096,
    timeout: float = 60.0,
    structured_output: bool | None = None,
    extra: Mapping[str, JsonValue] | None = None,
) -> Layer[Never, LanguageModel, Never]:
    """Offer a model that is reached over the Messages API.

    The SDK's own retries are off: the agent's policy is the only one (`model_retries`). The client is closed when
    the runtime is left. A server on this machine is reached without any proxy.

    Args:
        name: The model's name at the provider: `claude-sonnet-4-5`.
        base_url: Where the API is, with or without its `/v1`; without it `ANTHROPIC_BASE_URL`, else Anthropic's own.
        api_key: The credential; without it `ANTHROPIC_API_KEY`. Only servers other than Anthropic's may go without.
        temperature: `None` leaves it to the provider.
        max_output_tokens: The longest answer, in tokens; an answer that reaches it is cut off. What the model thinks
            counts too.
        timeout: Seconds that may pass without a byte of the response.
        structured_output: Whether the provider takes a JSON Schema for the answer; `None` means for Anthropic's own
            API alone. Turn it off for a model of theirs that has no structured outputs.
        extra: More members of the request's body. Objects and lists are added to what the request has itself, so
            `{"tools": [...]}` brings a tool that the provider runs beside the agent's own.

    Returns:
        A layer that offers `LanguageModel`; give it to `agent.on(...)`.

    Raises:
        ConstructionError: The SDK is missing, there is no key, or a setting makes no sense; the message has the line
            that mends it.

    Example:
        >>> anthropic_model("claude-sonnet-4-5", api_key="secret", max_output_tokens=8192)
        Layer(offers LanguageModel; needs nothing more)
    """
    url = base_url or os.environ.get("ANTHROPIC_BASE_URL") or None
    config = AnthropicConfig(
        name,
        url,
        api_key or os.environ.get("ANTHROPIC_API_KEY") or "",
        temperature,
        max_output_tokens,
        timeout,
        structured_output,
        dict(extra or {}),
    )
    return anthropic_layer(config)


def anthropic_layer(config: AnthropicConfig) -> Layer[Never, LanguageModel, Never]:
    """Offer the model that a configuration value describes; `anthropic_model` reads the environment first.

    Raises:
        ConstructionError: The SDK is missing, there is no key, or a setting makes no sense.
    """
    problems = problems_of(config, "anthropic", is_own=lambda: config.is_anthropic)
    if not config.max_output_tokens > 0:
        user = (f"anthropic_model({config.name!r})  {caller_where()}",)
        problems.append(Problem("INVALID", "max_output_tokens: it is a number of tokens above 0", user))
    if problems:
        raise ConstructionError(problems)
    # Servers that want no key are sent one all the same: without, the SDK would look for credentials by itself.
    known = config if config.api_key else attrs.evolve(config, api_key="none")

    async def anthropic() -> AsyncIterator[LanguageModel]:
        async with open_client(known) as client:
            yield AnthropicModel(known, client)

    return scoped(anthropic)
