"""How to reach a model behind the Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import attrs

from lamina.providers._wire import is_loopback
from lamina.schema import JsonValue


def _nothing() -> Mapping[str, JsonValue]:
    return {}


@attrs.frozen
class AnthropicConfig:
    """A model of Anthropic's, or of any server that speaks the Messages API.

    Attributes:
        name: The model's name at the provider.
        base_url: Where the API is, with or without its `/v1`; `None` is Anthropic's own.
        api_key: The credential; in no repr.
        temperature: `None` leaves it to the provider.
        max_output_tokens: The longest answer, in tokens; the API does not go without it.
        timeout: Seconds that may pass without a byte: to connect, to the first one, and between two.
        structured_output: Whether the provider takes a JSON Schema for the answer; `None` means for Anthropic's own
            API alone. Without it, the schema stands only in the instructions.
        extra: More members of the request's body, `{"thinking": {"type": "adaptive"}}` for one.

    Example:
        >>> AnthropicConfig("claude-sonnet-4-5", api_key="secret")
        AnthropicConfig(name='claude-sonnet-4-5', base_url=None)
    """

    name: str
    base_url: str | None = None
    api_key: str = attrs.field(default="", repr=False)
    temperature: float | None = attrs.field(default=None, repr=False)
    max_output_tokens: int = attrs.field(default=4096, repr=False)
    timeout: float = attrs.field(default=60.0, repr=False)
    structured_output: bool | None = attrs.field(default=None, repr=False)
    extra: Mapping[str, JsonValue] = attrs.field(factory=_nothing, hash=False, repr=False)

    @property
    def is_anthropic(self) -> bool:
        """Whether this is Anthropic's own API."""
        return self.base_url is None or urlsplit(self.base_url).hostname == "api.anthropic.com"

    @property
    def holds_output(self) -> bool:
        """Whether the provider can hold the model to a JSON Schema."""
        return self.is_anthropic if self.structured_output is None else self.structured_output

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine, where no proxy stands between."""
        return is_loopback(self.base_url or "")

    @property
    def address(self) -> str | None:
        """The API's address as the SDK wants it: the SDK appends the `/v1` that other SDKs want to be given."""
        return None if self.base_url is None else self.base_url.rstrip("/").removesuffix("/v1")
