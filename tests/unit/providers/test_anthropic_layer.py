"""The public constructor: what is missing is found before anything runs."""

from __future__ import annotations

import subprocess
import sys
from importlib import util

import pytest

from lamina.effect import ConstructionError
from lamina.model import ModelRequest, UserMessage
from lamina.providers import anthropic_model
from lamina.runtime import build
from tests.conformance.loopback import anthropic_messages as messages
from tests.conformance.loopback.server import Loopback
from tests.conformance.loopback.situations import TEXT, ask


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_importing_the_adapter_does_not_import_its_vendor() -> None:
    code = "import sys, lamina.providers; print({'anthropic', 'httpx2', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_missing_sdk_is_named_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = util.find_spec
    monkeypatch.setattr(
        "lamina.providers._wire._settings.find_spec",
        lambda name: None if name == "anthropic" else found(name),  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType] - of find_spec
    )
    with pytest.raises(ConstructionError) as raised:
        anthropic_model("claude", api_key="k")
    assert 'pip install "lamina[anthropic]"' in str(raised.value)
    assert __file__.rsplit("/", 1)[-1] in str(raised.value)


def test_anthropic_itself_wants_a_key() -> None:
    for url in (None, "https://api.anthropic.com", "https://api.anthropic.com/v1"):
        with pytest.raises(ConstructionError, match="ANTHROPIC_API_KEY"):
            anthropic_model("claude", base_url=url)
    anthropic_model("claude", base_url="http://127.0.0.1:8080")


def test_the_environment_is_asked_for_key_and_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary")
    assert "sk-canary" not in repr(anthropic_model("claude"))
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:8080")
    anthropic_model("claude")


@pytest.mark.parametrize("tokens", [0, -1])
def test_an_answer_of_no_tokens_is_refused(tokens: int) -> None:
    with pytest.raises(ConstructionError, match="max_output_tokens"):
        anthropic_model("claude", api_key="k", max_output_tokens=tokens)


async def test_the_layer_opens_a_model_for_the_runtime_and_closes_its_client_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A token that is lying around must not be sent to a server that was given none.
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "canary")
    server = Loopback(messages.PLAIN)
    async with server.open():
        async with build(anthropic_model("test-1", base_url=server.url)) as rt:
            model, text = await rt.run(ask, "Hi")
            assert text == TEXT
            assert (model.provider, model.model) == ("anthropic", "test-1")
        with pytest.raises(RuntimeError, match="closed"):
            await model.generate(ModelRequest((UserMessage.of("Hi"),)))
        assert len(server.asked) == 1
        assert "canary" not in repr(server.asked[0].headers)
