"""How to reach a model behind the Chat Completions API."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import attrs

from lamina.providers._wire import is_loopback
from lamina.schema import JsonValue


def _nothing() -> Mapping[str, JsonValue]:
    return {}


@attrs.frozen
class OpenAIConfig:
    """A model of OpenAI's, or of any server that speaks Chat Completions: Ollama, vLLM, OpenRouter, DeepSeek.

    Attributes:
        name: The model's name at the provider.
        base_url: Where the API is; `None` is OpenAI's own.
        api_key: The credential; in no repr.
        temperature: `None` leaves it to the provider.
        max_output_tokens: The longest answer, in tokens; `None` leaves it to the provider.
        timeout: Seconds that may pass without a byte: to connect, to the first one, and between two.
        structured_output: Whether the provider takes a JSON Schema for the answer. Without it, the schema stands only
            in the instructions.
        strict: Whether schemas that can be strict are marked so; `None` means for OpenAI's own API alone, because some
            servers refuse the mark.
        extra: More members of the request's body, `{"reasoning_effort": "low"}` for one.

    Example:
        >>> OpenAIConfig("qwen3:8b", base_url="http://127.0.0.1:11434/v1", api_key="secret")
        OpenAIConfig(name='qwen3:8b', base_url='http://127.0.0.1:11434/v1')
    """

    name: str
    base_url: str | None = None
    api_key: str = attrs.field(default="", repr=False)
    temperature: float | None = attrs.field(default=None, repr=False)
    max_output_tokens: int | None = attrs.field(default=None, repr=False)
    timeout: float = attrs.field(default=60.0, repr=False)
    structured_output: bool = attrs.field(default=True, repr=False)
    strict: bool | None = attrs.field(default=None, repr=False)
    extra: Mapping[str, JsonValue] = attrs.field(factory=_nothing, hash=False, repr=False)

    @property
    def is_openai(self) -> bool:
        """Whether this is OpenAI's own API."""
        return self.base_url is None or urlsplit(self.base_url).hostname == "api.openai.com"

    @property
    def is_strict(self) -> bool:
        """Whether schemas that can be strict are marked so."""
        return self.is_openai if self.strict is None else self.strict

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine, where no proxy stands between."""
        return is_loopback(self.base_url or "")
