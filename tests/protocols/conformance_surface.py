"""The named fixtures of the official conformance suite, as a toolkit of ours, served by our adapter in both eras.

Run as `python conformance_surface.py [PORT|stdio]`: it says on which port it listens, and serves until it is ended.
What each fixture has to do is the suite's to say; that it is said with our own types makes the suite a test of ours,
and not of the SDK's sample server.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
import zlib
from collections.abc import Mapping
from typing import Never

import anyio
import attrs
from returns.result import Failure, Result, Success

from lamina.adapters.mcp import McpHttp, serve_mcp
from lamina.call import (
    AudioContent,
    Caller,
    CallerUnable,
    Contents,
    DocumentContent,
    Elicited,
    ImageContent,
    PromptMessage,
    PromptRefused,
    SampleRequest,
    TextContent,
)
from lamina.effect import Try, bind, seed, tagged
from lamina.model import UserMessage
from lamina.runtime import Changes, build, prompt, resource
from lamina.schema import JsonValue
from lamina.tools import Tool, tool


def _png() -> bytes:
    """Draw one red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def _wav() -> bytes:
    """Be silent for a moment."""
    samples = b"\0\0" * 8
    form = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8_000, 16_000, 2, 16)
    return b"RIFF" + struct.pack("<I", 36 + len(samples)) + b"WAVE" + form + b"data" + struct.pack("<I", 16) + samples


POLL_AFTER = 0.3
PNG, WAV = base64.b64encode(_png()).decode(), base64.b64encode(_wav()).decode()
IMAGE = ImageContent(PNG, "image/png")


class Stage:
    """What the fixtures change: whether the tool that comes and goes is there."""

    def __init__(self) -> None:
        self.changes = Changes()
        self.open = True


@attrs.frozen
class Nothing:
    """No arguments."""


@attrs.frozen
class Asked:
    message: str


@attrs.frozen
class Spoken:
    prompt: str


@tagged("This tool intentionally returns an error for testing")
class Intended:
    """What the suite's failing tool fails with."""


# --- content --------------------------------------------------------------------------------------------------------


@tool(name="test_simple_text", execution="readonly")
async def simple_text(call: Nothing, ok: Try[Never]) -> Contents:
    """Give a text."""
    return Contents((TextContent("This is a simple text response for testing."),))


@tool(name="test_image_content", execution="readonly")
async def image_content(call: Nothing, ok: Try[Never]) -> Contents:
    """Give an image."""
    return Contents((IMAGE,))


@tool(name="test_audio_content", execution="readonly")
async def audio_content(call: Nothing, ok: Try[Never]) -> Contents:
    """Give a sound."""
    return Contents((AudioContent(WAV, "audio/wav"),))


@tool(name="test_embedded_resource", execution="readonly")
async def embedded_resource(call: Nothing, ok: Try[Never]) -> Contents:
    """Give a document."""
    text = "This is an embedded resource content."
    return Contents((DocumentContent(uri="test://embedded-resource", media_type="text/plain", text=text),))


@tool(name="test_multiple_content_types", execution="readonly")
async def multiple_content_types(call: Nothing, ok: Try[Never]) -> Contents:
    """Give a text, an image and a document."""
    text = json.dumps({"test": "data", "value": 123})
    document = DocumentContent(uri="test://mixed-content-resource", media_type="application/json", text=text)
    return Contents((TextContent("Multiple content types test:"), IMAGE, document))


@tool(name="test_error_handling", execution="readonly")
async def error_handling(call: Nothing, ok: Try[Intended]) -> str:
    """Fail as declared."""
    return ok(Failure(Intended()))


# --- what the caller is told ----------------------------------------------------------------------------------------


@tool(name="test_tool_with_logging")
async def with_logging(call: Nothing, ok: Try[Never], caller: Caller) -> str:
    """Log three times."""
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await caller.log("info", said)
        await anyio.sleep(0.05)  # the suite wants to see them one by one
    return "logged three times"


@tool(name="test_logging_tool")
async def logging_tool(call: Nothing, ok: Try[Never], caller: Caller) -> str:
    """Log once."""
    await caller.log("info", "logged by test_logging_tool")
    return "logged"


@tool(name="test_tool_with_progress")
async def with_progress(call: Nothing, ok: Try[Never], caller: Caller) -> str:
    """Tell of progress three times."""
    for done in (0, 50, 100):
        await caller.progress(done, 100, f"{done} of 100")
        await anyio.sleep(0.05)  # the same
    return "done"


@tool(name="test_reconnection", execution="readonly")
async def reconnection(call: Nothing, ok: Try[Never]) -> str:
    """Take longer than the stream of the call is kept open."""
    await anyio.sleep(2 * POLL_AFTER)
    return "answered after the stream had been taken up again"


# --- what the caller is asked ---------------------------------------------------------------------------------------


def _object(**properties: JsonValue) -> dict[str, JsonValue]:
    return {"type": "object", "properties": properties, "required": [*properties]}


NAME, OK = _object(name={"type": "string"}), _object(ok={"type": "boolean"})


def _told(elicited: Elicited) -> str:
    return f"action={elicited.action}, content={json.dumps(dict(elicited.content))}"


async def _sampled(caller: Caller, text: str, most: int, key: str | None = None) -> Result[str, CallerUnable]:
    request = SampleRequest(messages=(UserMessage.of(text),), max_tokens=most)
    return (await caller.sample(request, key=key)).map(lambda sampled: sampled.text)


@tool(name="test_sampling", asks=("sample",))
async def sampling(call: Spoken, ok: Try[CallerUnable], caller: Caller) -> str:
    """Ask the caller's model."""
    return f"LLM response: {ok(await _sampled(caller, call.prompt, 100))}"


@tool(name="test_missing_capability", asks=("sample",))
async def missing_capability(call: Nothing, ok: Try[CallerUnable], caller: Caller) -> str:
    """Ask the model of a caller that has none."""
    return ok(await _sampled(caller, "Are you there?", 10))


@tool(name="test_elicitation", asks=("elicit",))
async def elicitation(call: Asked, ok: Try[CallerUnable], caller: Caller) -> str:
    """Ask a person for a name and an address."""
    schema = _object(
        username={"type": "string", "description": "User's response"},
        email={"type": "string", "description": "User's email address"},
    )
    return f"User response: {_told(ok(await caller.elicit(call.message, schema)))}"


@tool(name="test_streaming_elicitation", asks=("elicit",))
async def streaming_elicitation(call: Nothing, ok: Try[CallerUnable], caller: Caller) -> str:
    """Ask a person, in the call's own answer."""
    return _told(ok(await caller.elicit("What is your name?", NAME)))


@tool(name="test_elicitation_sep1034_defaults", asks=("elicit",))
async def elicitation_defaults(call: Nothing, ok: Try[CallerUnable], caller: Caller) -> str:
    """Ask with a default for each kind of member."""
    schema = _object(
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    schema["required"] = []
    return f"Elicitation completed: {_told(ok(await caller.elicit('Please review and update the form', schema)))}"


@tool(name="test_elicitation_sep1330_enums", asks=("elicit",))
async def elicitation_enums(call: Nothing, ok: Try[CallerUnable], caller: Caller) -> str:
    """Ask to choose, in each way that the protocol has for it."""
    plain: list[JsonValue] = ["option1", "option2", "option3"]

    def titled(kind: str) -> list[JsonValue]:
        return [{"const": f"value{at}", "title": f"{said} {kind}"} for at, said in enumerate(("First", "Second"), 1)]

    schema = _object(
        untitledSingle={"type": "string", "enum": plain},
        titledSingle={"type": "string", "oneOf": titled("Option")},
        legacyEnum={"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        untitledMulti={"type": "array", "items": {"type": "string", "enum": plain}},
        titledMulti={"type": "array", "items": {"anyOf": titled("Choice")}},
    )
    schema["required"] = []
    return f"Elicitation completed: {_told(ok(await caller.elicit('Please choose', schema)))}"


@tool(name="test_input_required_result_elicitation", asks=("elicit",))
async def asks_name(call: Nothing, ok: Try[CallerUnable], caller: Caller) -> str:
    """Ask for a name."""
    elicited = ok(await caller.elicit("What is your name?", NAME, key="user_name"))
    return f"Hello, {elicited.content.get('name')}!"


@tool(name="test_input_required_result_sampling", asks=("sample",))
async def asks_model(call: Nothing, ok: Try[CallerUnable], caller: Caller) -> str:
    """Ask the caller's model for a capital."""
    return ok(await _sampled(caller, "What is the capital of France?", 100, "capital_question"))


@tool(name="test_input_required_result_list_roots", asks=("roots",))
async def asks_roots(call: Nothing, ok: Try[CallerUnable], caller: Caller) -> str:
    """Ask which folders the caller works in."""
    return ", ".join(root.uri for root in ok(await caller.roots(key="client_roots")))


@tool(name="test_input_required_result_request_state", asks=("elicit",))
async def asks_with_state(call: Nothing, ok: Try[CallerUnable], caller: Caller) -> str:
    """Ask for a yes; a body that goes on has been found by its state."""
    ok(await caller.elicit("Please confirm", OK, key="confirm"))
    return "state-ok"


@tool(name="test_input_required_result_tampered_state", asks=("elicit",))
async def asks_with_sealed_state(call: Nothing, ok: Try[CallerUnable], caller: Caller) -> str:
    """Ask for a yes; a state that is not ours finds nothing."""
    ok(await caller.elicit("Please confirm", OK, key="confirm"))
    return "confirmed"


@tool(name="test_input_required_result_multiple_inputs", asks=("elicit", "sample", "roots"))
async def asks_everything(call: Nothing, ok: Try[CallerUnable], caller: Caller) -> str:
    """Ask a person, the model and for folders, all at once."""
    found: list[str] = []

    async def name() -> None:
        elicited = ok(await caller.elicit("What is your name?", NAME, key="user_name"))
        found.append(str(elicited.content.get("name")))

    async def greeting() -> None:
        found.append(ok(await _sampled(caller, "Generate a greeting", 50, "greeting")))

    async def folders() -> None:
        found.extend(root.uri for root in ok(await caller.roots(key="client_roots")))

    async with anyio.create_task_group() as group:
        for ask in (name, greeting, folders):
            group.start_soon(ask)
    return ", ".join(found)


@tool(name="test_input_required_result_multi_round", asks=("elicit",))
async def asks_twice(call: Nothing, ok: Try[CallerUnable], caller: Caller) -> str:
    """Ask one thing after the other."""
    name = ok(await caller.elicit("Step 1: What is your name?", NAME, key="step1"))
    color = _object(color={"type": "string"})
    liked = ok(await caller.elicit("Step 2: What is your favorite color?", color, key="step2"))
    return f"{name.content.get('name')} likes {liked.content.get('color')}"


@tool(name="test_input_required_result_capabilities", asks=("elicit", "sample"))
async def asks_what_can_be_asked(call: Nothing, ok: Try[CallerUnable], caller: Caller) -> str:
    """Ask a person where there is one, else the model."""
    if "elicit" in caller.features:
        return _told(ok(await caller.elicit("What is your name?", NAME, key="user_name")))
    return ok(await _sampled(caller, "What is the capital of France?", 100, "capital_question"))


# --- schemas, and tools that come and go ----------------------------------------------------------------------------


async def _given(arguments: Mapping[str, JsonValue]) -> Result[JsonValue, Never]:
    return Success(dict(arguments))


DIALECT = "https://json-schema.org/draft/2020-12/schema"
json_schema_tool = Tool.dynamic(
    "json_schema_2020_12_tool",
    {
        "$schema": DIALECT,
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
    _given,
    description="Tool with JSON Schema 2020-12 features",
)
x_mcp_header = Tool.dynamic(
    "test_x_mcp_header",
    {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
    _given,
    description="Tool with an argument that is a header, too",
)


def _is_open(stage: Stage) -> bool:
    return stage.open


@tool(name="test_at_times", available=_is_open, execution="readonly")
async def at_times(call: Nothing, ok: Try[Never], stage: Stage) -> str:
    """Be there at times."""
    return "here"


@tool(name="test_trigger_tool_change")
async def trigger_tool_change(call: Nothing, ok: Try[Never], stage: Stage) -> str:
    """Let a tool come or go."""
    stage.open = not stage.open
    stage.changes.announce()
    return "changed"


# --- resources and prompts ------------------------------------------------------------------------------------------


@resource("test://static-text")
async def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@resource("test://static-binary", media_type="image/png")
async def static_binary() -> bytes:
    """An image."""
    return _png()


@resource("test://watched-resource")
async def watched_resource() -> str:
    """A text that may be watched."""
    return "Watched resource content"


@resource("test://template/{id}/data", media_type="application/json")
async def template_data(id: str) -> str:  # noqa: A002 - the uri's name for it
    """Data of one id."""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@prompt(name="test_simple_prompt")
async def simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@prompt(name="test_prompt_with_arguments", complete={"arg1": ("paris", "park", "party"), "arg2": ("one", "two")})
async def prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@prompt(name="test_prompt_with_embedded_resource")
async def prompt_with_embedded_resource(resourceUri: str) -> tuple[PromptMessage, ...]:  # noqa: N803 - the suite's name
    """A prompt with a document."""
    text = "Embedded resource content for testing."
    return (
        PromptMessage("user", DocumentContent(uri=resourceUri, media_type="text/plain", text=text)),
        PromptMessage("user", TextContent("Please process the embedded resource above.")),
    )


@prompt(name="test_prompt_with_image")
async def prompt_with_image() -> tuple[PromptMessage, ...]:
    """A prompt with an image."""
    return PromptMessage("user", IMAGE), PromptMessage("user", TextContent("Please analyze the image above."))


@prompt(name="test_input_required_result_prompt", asks=("elicit",))
async def prompt_that_asks(caller: Caller) -> str | PromptRefused:
    """A prompt that asks a person first."""
    schema = _object(context={"type": "string"})
    elicited = await caller.elicit("What context should the prompt use?", schema, key="user_context")
    if isinstance(elicited, Failure):
        return PromptRefused(str(elicited.failure()))
    return f"Use this context: {elicited.unwrap().content.get('context')}"


TOOLKIT = (
    (simple_text | image_content | audio_content | embedded_resource | multiple_content_types | error_handling)
    | (with_logging | logging_tool | with_progress | reconnection | sampling | missing_capability | elicitation)
    | (streaming_elicitation | elicitation_defaults | elicitation_enums | asks_name | asks_model | asks_roots)
    | (asks_with_state | asks_with_sealed_state | asks_everything | asks_twice | asks_what_can_be_asked)
    | (json_schema_tool | x_mcp_header | at_times | trigger_tool_change)
)
RESOURCES = (static_text, static_binary, watched_resource, template_data)
PROMPTS = (
    *(simple_prompt, prompt_with_arguments, prompt_with_embedded_resource, prompt_with_image),
    prompt_that_asks,
)


async def main(where: str = "0") -> None:
    """Serve all of it in both eras: on stdio, or on a port."""
    stage = Stage()

    def started(taken: int) -> None:
        sys.stdout.write(f"{taken}\n")
        sys.stdout.flush()

    async with build(bind(Stage).value(stage), seeds=seed(Caller)) as opened:
        surface = opened.surface(
            TOOLKIT, name="lamina-conformance", resources=RESOURCES, prompts=PROMPTS, changes=stage.changes
        )
        if where == "stdio":
            await serve_mcp(surface)
        else:
            await serve_mcp(
                surface, stdio=False, http=McpHttp(port=int(where), replay=256, poll_after=POLL_AFTER, started=started)
            )


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
