"""Models behind the Chat Completions API: OpenAI's own, and every server that speaks it."""

from lamina.providers.openai._config import OpenAIConfig
from lamina.providers.openai._layer import openai_layer, openai_model
from lamina.providers.openai._model import OpenAIModel

__all__ = ["OpenAIConfig", "OpenAIModel", "openai_layer", "openai_model"]
