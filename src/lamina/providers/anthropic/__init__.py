"""Models behind the Messages API: Anthropic's own, and every server that speaks it."""

from lamina.providers.anthropic._config import AnthropicConfig
from lamina.providers.anthropic._layer import anthropic_layer, anthropic_model
from lamina.providers.anthropic._model import AnthropicModel

__all__ = ["AnthropicConfig", "AnthropicModel", "anthropic_layer", "anthropic_model"]
