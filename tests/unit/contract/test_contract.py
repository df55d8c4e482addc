"""Cases 1 to 20 of the contract: what may be exposed, and what a contract says of itself."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from returns.result import Failure

from lamina.call import Invocation
from lamina.contract import Action, Contract, MessageSet, Nothing, completes, compose, pick, struct, when
from lamina.effect import ConstructionError
from tests.unit.contract.scene import (
    ById,
    Clear,
    Delete,
    Deleted,
    FailedDelete,
    Host,
    Internal,
    Message,
    Model,
    Rename,
    User,
)


@attrs.frozen
class Owner:
    name: str


@attrs.frozen
class Assign:
    owner: Owner
    deputy: Owner


base = Contract.of(Model, messages=Message)


def problem_of(make: Any) -> str:
    with pytest.raises(ConstructionError) as caught:
        make()
    return str(caught.value)


def test_case_1_a_description_is_all_that_a_variant_needs() -> None:
    (one,) = base.variant(Delete, "Delete a todo").messages

    assert (one.name, one.tag, one.description) == ("delete", "Delete", "Delete a todo")
    assert not one.model_dependent
    assert not one.requires_authorization
    assert one.completion is None


def test_case_2_variants_keep_their_order() -> None:
    todo = base.variant(Rename, "r").variant(Clear, "c").variant(Delete, "d")

    assert [one.name for one in todo.messages] == ["rename", "clear", "delete"]


@pytest.mark.parametrize("payload", [{"foo": 1}, [], "str", 42, None])
async def test_case_3_a_capability_without_payload_takes_an_empty_object_only(payload: Any) -> None:
    bound = base.variant(Clear, "Clear").bind(Host())

    assert "Invalid input" in str((await bound.dispatch_unknown("clear", payload)).failure())
    assert (await bound.dispatch_unknown("clear", {})).unwrap().message == Clear()


async def test_case_4_an_external_empty_input_keeps_its_own_check() -> None:
    open_now = False

    @attrs.frozen
    class Knock:
        def __attrs_post_init__(self) -> None:
            if not open_now:
                raise ValueError("closed")

    bound = base.variant(Clear, "Clear", input=Knock, to_message=lambda _, at: Clear()).bind(Host())

    assert isinstance(await bound.dispatch_unknown("clear", {}), Failure)
    open_now = True
    assert (await bound.dispatch_unknown("clear", {})).unwrap().tag == "Clear"
    assert isinstance(await bound.dispatch_unknown("clear", {"x": 1}), Failure)


def test_case_5_every_capital_begins_a_word_and_digits_do_not() -> None:
    names = {}
    for tag in ("RequestedDeleteTodo", "A", "Load2Todos", "LoadedHTTPCache"):
        made = attrs.make_class(tag, [])
        names[tag] = Contract.of(Model, messages=made).variant(made, "x").messages[0].name

    assert names == {
        "RequestedDeleteTodo": "requested_delete_todo",
        "A": "a",
        "Load2Todos": "load2_todos",
        "LoadedHTTPCache": "loaded_h_t_t_p_cache",
    }


def test_case_6_derived_and_explicit_names_are_compared_together() -> None:
    todo = base.variant(Delete, "d").variant(Rename, "r", name="delete")

    assert 'Duplicate exposed capability name "delete"' in problem_of(lambda: todo.bind(Host()))


@pytest.mark.parametrize("name", ["a" * 128, "delete-todo_1"])
def test_case_7_names_that_pass(name: str) -> None:
    assert base.variant(Delete, "d", name=name).messages[0].name == name


@pytest.mark.parametrize("name", ["a" * 129, "", "todo.delete", "löschen", "a\n"])
def test_case_7_names_that_fail(name: str) -> None:
    said = problem_of(lambda: base.variant(Delete, "d", name=name))

    assert (
        'Cannot expose "Delete": "name" is not a valid capability name. Use 1-128 characters of [a-zA-Z0-9_-].' in said
    )


def test_case_8_what_is_not_exposed_appears_nowhere() -> None:
    todo = base.variant(Delete, "d")
    told = todo.manifest_json() + todo.markdown() + str(todo.messages) + str(todo.wiring())

    assert "Internal" not in told
    assert "Rename" not in told


def test_case_9_input_and_to_message_only_together() -> None:
    lone: Any = base.variant

    assert 'Cannot expose "Delete": "input" was provided without "to_message"' in problem_of(
        lambda: lone(Delete, "d", input=ById)
    )
    assert '"to_message" was provided without "input"' in problem_of(
        lambda: lone(Delete, "d", to_message=lambda given, at: given)
    )


def test_case_10_success_is_not_empty_and_does_not_overlap_failure() -> None:
    nothing: Any = completes

    assert 'Cannot expose "delete": its completion contract names no success Message' in problem_of(
        lambda: base.variant(Delete, "d", completion=nothing())
    )
    assert 'Cannot expose "delete": "Deleted" is both a success and a failure Message' in problem_of(
        lambda: base.variant(Delete, "d", completion=completes(Deleted, failure=Deleted))
    )


async def test_case_11_a_builder_that_makes_another_message_is_a_defect_naming_both() -> None:
    def wrong(given: Any, at: Any) -> Any:
        return Rename(given.id)

    host = Host()
    bound = base.variant(Delete, "d", input=ById, to_message=wrong).bind(host)

    with pytest.raises(Exception, match="failed unexpectedly") as caught:
        await bound.dispatch(ById("a"))

    assert str(caught.value.__cause__) == '"delete" made a "Rename" Message, but is exposed as "Delete"'
    assert host.sent == []


def test_case_12_a_contract_is_not_changed_by_those_made_of_it() -> None:
    todo = base.resource("name", "The name", str, lambda m: m.name)
    more = todo.resource("other", "Another", str, lambda m: m.name).variant(Delete, "d")

    assert [one.name for one in todo.resources] == ["name"]
    assert todo.messages == ()
    assert [one.name for one in more.resources] == ["name", "other"]


def test_case_13_a_resource_name_twice_is_refused() -> None:
    todo = base.resource("name", "The name", str, lambda m: m.name)

    assert 'Duplicate agent resource name "name"' in problem_of(
        lambda: todo.resource("name", "Again", str, lambda m: m.name)
    )


def test_case_14_the_manifest_is_the_same_twice_and_reads_no_model() -> None:
    def whole() -> str:
        context = compose(it=pick("name"), kept=struct(Model, int, lambda m: 1 // 0))
        return (
            Contract.of(Model, messages=Message, context=context)
            .variant(Delete, "d", available=lambda m: 1 // 0 == 1, completion=completes(Deleted))
            .resource("name", "The name", str, lambda m: str(1 // 0))
            .manifest_json()
        )

    assert whole().encode() == whole().encode()


def test_case_15_the_manifest_leaves_out_what_is_not_there() -> None:
    plain = base.variant(Delete, "d").manifest()
    (capability,) = plain["capabilities"]  # type: ignore[misc]

    assert list(plain) == ["capabilities", "resources"]
    assert list(capability) == [
        "name",
        "tag",
        "description",
        "inputSchema",
        "modelDependent",
        "requiresAuthorization",
    ]


def test_the_manifest_says_what_completes() -> None:
    name = struct(Model, str, lambda m: m.name, observes=("name",))
    whole = json.loads(
        Contract.of(Model, messages=Message, context=pick("name"))
        .variant(Delete, "d", completion=completes(Deleted, failure=FailedDelete))
        .variant(Rename, "r", completion=when(projection=name, predicate=lambda value, request: value == request.name))
        .manifest_json()
    )

    assert [one["completion"] for one in whole["capabilities"]] == [
        {"kind": "message", "success": ["Deleted"], "failure": ["FailedDelete"]},
        {"kind": "state", "observes": ["name"]},
    ]
    assert whole["context"]["properties"] == {"name": {"type": "string"}}


def test_case_16_markdown_escapes_pipes_and_line_breaks() -> None:
    page = base.variant(Delete, "Delete | remove\na todo").markdown()

    assert "| `delete` | `Delete` | Delete \\| remove a todo | no | no |" in page.splitlines()


def test_case_17_an_empty_contract_says_so() -> None:
    page = base.markdown()

    assert "This contract exposes no capabilities." in page
    assert "This contract projects no context." in page
    assert base.manifest() == {"capabilities": [], "resources": []}


def test_case_18_nested_definitions_are_inlined() -> None:
    (one,) = Contract.of(Model, messages=Assign).variant(Assign, "Assign").messages

    assert one.input_schema["properties"]["owner"] == {"$ref": "#/$defs/Owner"}  # type: ignore[index, call-overload]
    assert one.input_schema["$defs"]["Owner"]["properties"] == {"name": {"type": "string"}}  # type: ignore[index, call-overload]


def test_case_19_a_subset_of_another_application_is_refused() -> None:
    theirs = MessageSet.of(Delete | Clear, "theirs", Delete)
    ours = MessageSet.of(Message, "ours", Delete).add(Clear)

    assert "Contract.subset: the subset belongs to a different application" in problem_of(
        lambda: base.subset(theirs, {Delete: "d"})
    )
    assert [one.name for one in base.subset(ours, {Delete: "d", Clear: "c"}).messages] == ["delete", "clear"]
    assert '"Clear" has no description' in problem_of(lambda: base.subset(ours, {Delete: "d"}))
    assert '"Rename" is not in the subset' in problem_of(
        lambda: base.subset(ours, {Delete: "d", Clear: "c", Rename: "r"})
    )


def test_case_20_invocation_ids_are_distinct() -> None:
    assert len({Invocation.new().id for _ in range(50)}) == 50


def test_what_is_no_message_is_refused() -> None:
    @attrs.frozen
    class Stranger: ...

    assert 'Cannot expose "Stranger": it is not a variant of this Message union' in problem_of(
        lambda: base.variant(Stranger, "s")
    )
    assert "is no attrs class" in problem_of(lambda: Contract.of(Model, messages=int | str))
    assert "the model, int, is no attrs class" in problem_of(lambda: Contract.of(int, messages=Message))


def test_an_empty_description_is_refused() -> None:
    assert 'Cannot expose "delete": its description is empty' in problem_of(lambda: base.variant(Delete, " "))


def test_a_projection_reads_this_model_and_its_fields() -> None:
    other = struct(User, str, lambda user: user.id)
    same: Any = when(projection=other, predicate=lambda value, request: True)

    assert "it reads a User, not a Model" in problem_of(lambda: base.variant(Delete, "d", completion=same))
    assert "Model has no field 'nmae'" in problem_of(lambda: Contract.of(Model, messages=Message, context=pick("nmae")))
    assert "Model has no field 'x'" in problem_of(
        lambda: struct(Model, int, lambda m: 1, observes=("x",)).reading(Model)
    )


def test_pick_goes_into_fields_of_fields() -> None:
    @attrs.frozen
    class Project:
        name: str
        secret: str

    @attrs.frozen
    class Whole:
        project: Project
        count: int = 0

    reading = pick("project.name", "count").reading(Whole)

    assert reading.codec.encode(reading.read(Whole(Project("x", "y"), 2))).unwrap() == {
        "project": {"name": "x"},
        "count": 2,
    }
    assert reading.paths == ("project.name", "count")


def test_wiring_names_paths_and_tags_once() -> None:
    name = struct(Model, str, lambda m: m.name, observes=("name",))
    todo = (
        Contract.of(Model, messages=Message, context=pick("selected", "name"), name="todo")
        .variant(Rename, "r", completion=when(projection=name, predicate=lambda value, request: True))
        .variant(Clear, "c")
        .resource("name", "The name", str, lambda m: m.name, observes=("name",))
    )

    assert (todo.wiring().name, todo.wiring().observes, todo.wiring().exposes) == (
        "agent:todo",
        ("selected", "name"),
        ("Rename", "Clear"),
    )


async def test_an_action_is_exposed_under_the_message_that_it_makes() -> None:
    by_id = Action("delete_by_id", "Delete by its id", ById, lambda given: Delete(given.id))
    host = Host()
    bound = base.action(Delete, by_id, available=lambda m: m.selected is None).bind(host)

    assert (await bound.dispatch(ById("a"))).unwrap().capability == "delete_by_id"
    assert host.sent == [Delete("a")]


async def test_an_action_under_another_tag_is_a_defect_when_it_is_dispatched() -> None:
    by_id: Any = Action("delete_by_id", "Delete by its id", ById, lambda given: Delete(given.id))
    host = Host()
    bound = base.action(Clear, by_id).bind(host)

    with pytest.raises(Exception, match="failed unexpectedly") as caught:
        await bound.dispatch_unknown("delete_by_id", {"id": "a"})

    assert str(caught.value.__cause__) == '"delete_by_id" made a "Delete" Message, but is exposed as "Clear"'
    assert host.sent == []


def test_what_only_the_whole_shows_is_one_error() -> None:
    class Bare:
        def model(self) -> Model:
            return Model()

        def dispatch(self, message: object, /) -> None: ...

    name = struct(Model, str, lambda m: m.name)
    todo: Any = (
        Contract.of(Model, messages=Message, principal=User)
        .variant(Delete, "d", name="x", completion=completes(Deleted))
        .variant(Clear, "c", name="x", completion=completes(Internal))
        .variant(Rename, "r", completion=when(projection=name, predicate=lambda value, request: True))
        .variant(Internal, "i", needs_approval=True)
    )
    said = problem_of(lambda: todo.bind(Bare()))

    assert "3 problems" in said
    assert 'Duplicate exposed capability name "x"' in said
    assert 'This host cannot observe Messages, which "x", "x" needs to report completion. Supply host.observe.' in said
    assert (
        'This host cannot subscribe to Model changes, which "rename" needs to report completion. '
        "Supply host.subscribe." in said
    )
    assert "This host cannot tell the principal, a User. Supply host.principal." in said
    assert "MISSING Approval" in said


def test_two_capabilities_may_take_one_input() -> None:
    todo = base.variant(Clear, "c", input=Nothing, to_message=lambda _, at: Clear()).variant(
        Delete, "d", input=Nothing, to_message=lambda _, at: Delete(at.model.selected or "")
    )

    assert [one.name for one in todo.messages] == ["clear", "delete"]
