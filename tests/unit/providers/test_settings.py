"""What no provider's model can be made with is refused in the same words, and quoted by none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lamina.effect import ConstructionError, Layer
from lamina.providers import AnthropicConfig, OpenAIConfig, anthropic_layer, anthropic_model, openai_layer, openai_model


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


of_each = pytest.mark.parametrize("model", [anthropic_model, openai_model])


@of_each
@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan")])
def test_a_timeout_that_is_none_is_refused(model: Callable[..., object], timeout: float) -> None:
    with pytest.raises(ConstructionError, match="timeout"):
        model("model", api_key="k", timeout=timeout)


@of_each
@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"base_url": "127.0.0.1:8080/v1"}, "base_url: it begins with http:// or https://"),
        ({"base_url": "http:///v1"}, "base_url: it begins with http:// or https://"),
        ({"base_url": "http://127.0.0.1:99999/v1"}, "base_url: it is no URL"),
        ({"base_url": "http://[::1/v1"}, "base_url: it is no URL"),
        ({"base_url": "http://127.0.0.1/v1\n"}, "base_url: it has a space"),
        ({"base_url": "http://canary:canary@127.0.0.1/v1"}, "base_url: a credential in it"),
        ({"api_key": "sk-canary\n"}, "api_key: it has a line break"),
        ({"api_key": "sk-canary-é"}, "api_key: it has a line break"),
        ({"temperature": float("nan")}, "temperature: it is a finite number"),
        ({"name": ""}, "name: it is the model's name"),
    ],
)
def test_settings_that_no_request_could_use_are_refused_and_not_quoted(
    model: Callable[..., object], settings: dict[str, Any], why: str
) -> None:
    with pytest.raises(ConstructionError) as raised:
        model(**{"name": "model", "api_key": "k", **settings})
    assert why in str(raised.value)
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize(("config", "layer"), [(AnthropicConfig, anthropic_layer), (OpenAIConfig, openai_layer)])
def test_the_key_is_in_no_repr(config: Callable[..., Any], layer: Callable[[Any], Layer[Any, Any, Any]]) -> None:
    made = config("model", api_key="sk-canary")
    assert "canary" not in repr(made) + repr(layer(made))
