"""What a model of one's own can be asked beside for an answer: how likely words are, and which of several fits best."""

from __future__ import annotations

from typing import cast

import orjson

from lamina.model import Usage
from lamina.providers._wire import Broken, Object, object_in, objects_in, text_in
from lamina.providers.openai._transport import Client
from lamina.providers.openai._usage import usage_of
from lamina.schema import JsonValue


class Llama:
    """Asks llama.cpp's server on behalf of one request, and adds up what that costs."""

    def __init__(self, client: Client, address: str) -> None:
        self._client = client
        self._address = address
        self.usage = Usage(0, 0)

    async def tokens(self, text: str) -> list[int]:
        """Cut a text into the model's tokens."""
        answer = await self._client.ask(f"{self._address}/tokenize", {"content": text})
        tokens = answer.get("tokens")
        if not isinstance(tokens, list):
            raise Broken.unreadable("the server gave no tokens")
        return [token for token in cast("list[object]", tokens) if type(token) is int]

    async def likelihood(self, context: str, tokens: list[int]) -> float:
        """Say how likely tokens are after a context, as the sum of their logarithms.

        The grammar lets the model say nothing else, and the server reports how likely each token was without it.
        """
        grammar = "root ::= " + " ".join(f"<[{token}]>" for token in tokens)
        answer = await self._complete({"prompt": context, "grammar": grammar, "max_tokens": len(tokens), "logprobs": 1})
        said = objects_in(object_in(_choice(answer), "logprobs"), "content")
        found = [value for token in said if isinstance(value := token.get("logprob"), int | float)]
        return sum(found)

    async def pick(self, prompt: str, choices: list[str]) -> str:
        """Let the model go on with one of the choices, and give that one."""
        if len(choices) == 1:
            return choices[0]
        lines = " | ".join(orjson.dumps(f" {choice}\n").decode() for choice in choices)
        answer = await self._complete({"prompt": prompt, "grammar": f"root ::= {lines}", "max_tokens": 64})
        said = text_in(_choice(answer), "text").strip()
        # A choice of more than 64 tokens is cut off; what was said of it tells it from most others.
        return next((choice for choice in choices if choice == said), None) or next(
            (choice for choice in choices if choice.startswith(said)), choices[0]
        )

    async def write(self, prompt: str, schema: JsonValue, most_tokens: int) -> str:
        """Let the model go on with JSON of a schema; cut off, it is no JSON."""
        answer = await self._complete({"prompt": prompt, "json_schema": schema, "max_tokens": most_tokens})
        return text_in(_choice(answer), "text").strip()

    async def _complete(self, body: dict[str, JsonValue]) -> Object:
        answer = await self._client.ask("/completions", {**body, "temperature": 0.0, "cache_prompt": True})
        self.usage = add(self.usage, usage_of(answer))
        return answer


def add(one: Usage, other: Usage | None) -> Usage:
    """Add two usages of the same request."""
    if other is None:
        return one
    return Usage(
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.cache_read_tokens + other.cache_read_tokens,
        one.cache_write_tokens + other.cache_write_tokens,
        one.reasoning_tokens + other.reasoning_tokens,
    )


def _choice(answer: Object) -> Object:
    choices = objects_in(answer, "choices")
    if not choices:
        raise Broken.unreadable("the response has no choice")
    return choices[0]
