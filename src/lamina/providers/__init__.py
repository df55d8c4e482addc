"""Adapters to models. Each stands on its vendor's package, which is imported when the model is opened."""

from lamina.providers.anthropic import AnthropicConfig, anthropic_layer, anthropic_model
from lamina.providers.local import LocalConfig, local_model
from lamina.providers.openai import OpenAIConfig, openai_layer, openai_model

__all__ = [
    "AnthropicConfig",
    "LocalConfig",
    "OpenAIConfig",
    "anthropic_layer",
    "anthropic_model",
    "local_model",
    "openai_layer",
    "openai_model",
]
