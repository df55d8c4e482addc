"""What the type checkers must accept and reject of contracts and their hosts; marked lines must be rejected."""

from __future__ import annotations

from typing import Never, assert_type

import attrs
from returns.result import Result

from lamina import Approval, Runtime
from lamina.approval import Ask
from lamina.call import Invocation
from lamina.contract import (
    Action,
    BoundContract,
    Contract,
    Denied,
    Dispatched,
    DispatchError,
    MemoryHost,
    MessageSet,
    Nothing,
    PlainHost,
    completes,
    pick,
    struct,
    when,
)
from lamina.tools import Toolkit


@attrs.frozen
class Model:
    todos: tuple[str, ...] = ()
    selected: str | None = None


@attrs.frozen
class Create:
    title: str


@attrs.frozen
class Created:
    title: str
    request_id: str


@attrs.frozen
class FailedCreate:
    why: str
    request_id: str


@attrs.frozen
class Delete:
    id: str


@attrs.frozen
class Clear: ...


Message = Create | Created | FailedCreate | Delete | Clear


@attrs.frozen
class User:
    id: str


count = struct(Model, int, lambda m: len(m.todos), observes=("todos",))
of_users = struct(User, str, lambda user: user.id)
base = Contract.of(Model, messages=Message)

# Nothing needs an annotation: each function is checked against the variant that it stands in.
todo = (
    Contract.of(Model, messages=Message, principal=User, context=pick("todos"))
    .variant(
        Create,
        "Create a todo",
        available=lambda m: len(m.todos) < 9,
        authorize=lambda attempt: attempt.principal.id == attempt.input.title or Denied("no"),
        completion=completes(
            Created,
            failure=FailedCreate,
            correlate=lambda request, result, call: result.request_id == call.id + request.title,
        ),
    )
    .variant(
        Delete,
        "Delete the selected todo",
        input=Nothing,
        to_message=lambda _, at: Delete(at.model.selected or at.principal.id or at.invocation.id),
        available=lambda m: m.selected is not None,
    )
    .variant(Clear, "Clear", completion=when(projection=count, predicate=lambda value, _: value.bit_length() == 0))
)
assert_type(todo, Contract[Model, User, Create | Delete | Clear, Create | Nothing | Clear, Never])


# A predicate, a builder or a hook that reads the wrong type.
base.variant(Create, "c", available=lambda m: m.selectid is None)  # ERR
base.variant(Create, "c", authorize=lambda attempt: attempt.input.titel == "")  # ERR
base.variant(Create, "c", authorize=lambda attempt: attempt.principal.id == "")  # ERR
base.variant(Delete, "d", input=Nothing, to_message=lambda given, at: Delete(given.id))  # ERR
# pyright widens to `Delete | Clear`; a dispatch is a defect then.
base.variant(Delete, "d", input=Nothing, to_message=lambda given, at: Clear())  # ERR mypy
base.variant(Create, "c", available=lambda m: m.selected)  # ERR
base.variant(Create, "c", authorize=lambda attempt: "no")  # ERR

# `input` and `to_message` only together.
base.variant(Delete, "d", input=Nothing)  # ERR
base.variant(Delete, "d", to_message=lambda given, at: Delete(""))  # ERR

# A `correlate` that reads the wrong type.
base.variant(
    Create, "c", completion=completes(Created, correlate=lambda request, result, call: request.id == "")
)  # ERR
base.variant(
    Create, "c", completion=completes(Created, correlate=lambda request, result, call: result.why == "")
)  # ERR
base.variant(Create, "c", completion=completes(Created, correlate=lambda request, result, call: call.ip == ""))  # ERR
base.variant(
    Create,
    "c",
    completion=completes(
        Created, failure=FailedCreate, correlate=lambda request, result, call: result.title == ""
    ),  # ERR
)
base.variant(
    Delete,
    "d",
    input=Nothing,
    to_message=lambda given, at: Delete(""),
    completion=completes(Created, correlate=lambda request, result, call: request.id == ""),  # ERR
)
completes()  # ERR

# A state's predicate that reads the wrong type, and a projection of another model.
base.variant(Create, "c", completion=when(projection=count, predicate=lambda value, request: value.title == ""))  # ERR
base.variant(Create, "c", completion=when(projection=count, predicate=lambda value, request: request.id == ""))  # ERR
base.variant(Create, "c", completion=when(projection=of_users, predicate=lambda value, request: True))  # ERR
Contract.of(Model, messages=Message, context=of_users)  # ERR

# A resource reads this model, and gives what its schema says.
base.resource("count", "How many", int, lambda m: len(m.todos))
# pyright widens to `int | str`; reading is a defect then.
base.resource("count", "How many", int, lambda m: str(m.todos))  # ERR mypy
base.resource("count", "How many", int, lambda m: len(m.todo))  # ERR

# An action goes under the tag of the message that it makes.
create = Action("create", "Create a todo", Created, lambda given: Create(given.title))
assert_type(base.action(Create, create), Contract[Model, None, Create, Created, Never])
base.action(Delete, create)  # ERR
base.action(Create, create, authorize=lambda attempt: attempt.input.request_id == "")
base.action(Create, create, authorize=lambda attempt: attempt.input.id == "")  # ERR

some = MessageSet.of(Message, "some", Delete).add(Clear)
assert_type(base.subset(some, {Delete: "d", Clear: "c"}), Contract[Model, None, Delete | Clear, Delete | Clear, Never])

# What is asked for approval is the variant's own input, and the contract then needs it.
asking = base.variant(
    Delete, "d", needs_approval=True, approval=Ask(summary=lambda call: f"Delete {call.id}", risk="high")
)
assert_type(asking, Contract[Model, None, Delete, Delete, Approval])
base.variant(Delete, "d", approval=Ask[Delete]())  # ERR
base.variant(Delete, "d", needs_approval=True, approval=Ask[Create]())  # ERR


class Host:
    def model(self) -> Model:
        return Model()

    def dispatch(self, message: Create | Created | FailedCreate | Delete | Clear, /) -> None: ...


class HostOfUsers(Host):
    def principal(self, invocation: Invocation, /) -> User:
        return User(invocation.id)


class HostOfStrings(Host):
    async def principal(self, invocation: Invocation, /) -> str:
        return invocation.id


class Narrow:
    def model(self) -> Model:
        return Model()

    def dispatch(self, message: Delete, /) -> None: ...


class OtherModel:
    def model(self) -> User:
        return User("")

    def dispatch(self, message: object, /) -> None: ...


# A host reads this model, takes every message that is exposed, and knows the principals that are asked for.
assert_type(todo.bind(HostOfUsers()), BoundContract[Create | Delete | Clear, Create | Nothing | Clear])
todo.bind(Host())  # ERR
todo.bind(HostOfStrings())  # ERR
creating = base.variant(Create, "c")
creating.bind(Host())
creating.bind(Narrow())  # ERR
creating.bind(OtherModel())  # ERR
asking.bind(Host())  # ERR
MemoryHost(Model(), lambda model, message: model)


def update(model: Model, message: Create | Delete) -> Model:
    return model


creating.bind(MemoryHost(Model(), update))
base.variant(Clear, "c").bind(MemoryHost(Model(), update))  # ERR
plain = PlainHost.of(Model).on(Create, lambda message: print(message.title))
creating.bind(plain)
asking.variant(Create, "c").toolkit(Host)
base.variant(Delete, "d").bind(plain)  # ERR
PlainHost.of(Model).on(Create, lambda message: print(message.titel))  # ERR
assert_type(asking.toolkit(Host), Toolkit[Approval | Host])


def in_runtime(bare: Runtime[Host], approving: Runtime[Approval]) -> None:
    approving.bind(asking, Host())
    bare.bind(creating, Host())
    bare.bind(asking, Host())  # ERR
    approving.bind(todo, Host())  # ERR
    approving.bind(todo, HostOfUsers())


async def in_app() -> None:
    bound = todo.bind(HostOfUsers())
    sent = await bound.dispatch(Create("milk"))
    assert_type(sent, Result[Dispatched[Create | Delete | Clear], DispatchError])
    await bound.dispatch(Nothing(), Invocation(id="call-1"))
    await bound.dispatch_unknown("whatever", {"came": "from the wire"})
    await bound.dispatch(Delete("a"))  # ERR
    await bound.dispatch(Created("milk", ""))  # ERR
    await bound.dispatch(Create(7))  # ERR
    await bound.dispatch(Create(id="a"))  # ERR
    await bound.dispatch("create")  # ERR


# `correlate` is given each message that is named, and no other.
def of_one(request: Create, result: Created, call: Invocation) -> bool:
    return result.request_id == call.id


def of_two(request: Create, result: Created | FailedCreate, call: Invocation) -> bool:
    return result.request_id == call.id


def of_five(request: Create, result: Message, call: Invocation) -> bool:
    return result == request


base.variant(Create, "c", completion=completes(Created, correlate=of_one))
base.variant(Create, "c", completion=completes(Created, FailedCreate, correlate=of_two))
base.variant(Create, "c", completion=completes(Created, failure=FailedCreate, correlate=of_two))
base.variant(
    Create, "c", completion=completes(Create, Created, Delete, failure=(Clear, FailedCreate), correlate=of_five)
)
base.variant(Create, "c", completion=completes(Created, FailedCreate, correlate=of_one))  # ERR
base.variant(Create, "c", completion=completes(Created, failure=FailedCreate, correlate=of_one))  # ERR
base.variant(Create, "c", completion=completes(Created, FailedCreate, Clear, correlate=of_two))  # ERR
base.variant(Create, "c", completion=completes(Created, failure=(Clear, FailedCreate), correlate=of_two))  # ERR
base.variant(Create, "c", completion=completes(Created, Delete, correlate=lambda q, result, c: result.id == ""))  # ERR
completes(Created, Delete, Clear, FailedCreate)  # ERR
completes(Created, failure=(Clear, FailedCreate, Delete))  # ERR
