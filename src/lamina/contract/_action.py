"""What an application has declared already, apart from any contract: actions, and named sets of its messages."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Generic, TypeVar

from lamina.contract._messages import members_of
from lamina.effect import ConstructionError, Problem, caller_where, name_of

I = TypeVar("I")  # noqa: E741 - the input
V = TypeVar("V")
W = TypeVar("W")


class Action(Generic[I, V]):
    """Something that a page's button causes, and that an agent may cause, too: an input, and the message it makes.

    When to use: declare it once, call `action.make(input)` in the user interface, and expose it with
    `contract.action(TheMessage, action)`.

    Args:
        name: What agents call it.
        description: What they read.
        input: The class of its input.
        make: Makes the whole message.

    Example:
        >>> import attrs
        >>> @attrs.frozen
        ... class AddedToCart:
        ...     sku: str
        >>> @attrs.frozen
        ... class Product:
        ...     sku: str
        >>> add_to_cart = Action("add_to_cart", "Add a product to the cart", Product, lambda p: AddedToCart(p.sku))
        >>> add_to_cart.make(Product("tea"))
        AddedToCart(sku='tea')
    """

    __slots__ = ("description", "input", "make", "name")

    def __init__(self, name: str, description: str, input: type[I], make: Callable[[I], V]) -> None:  # noqa: A002
        self.name = name
        self.description = description
        self.input = input
        self.make: Callable[[I], V] = make


class MessageSet(Generic[V]):
    """A named set of an application's messages, which whoever owns them gives out; immutable.

    When to use: a part of an application names what of its messages others may expose, and a contract exposes them with
    `contract.subset(messages, {Message: "what it does", …})`.

    Attributes:
        name: Its name.
        messages: The classes, in the order in which they were added.

    Example:
        >>> import attrs
        >>> @attrs.frozen
        ... class Opened: ...
        >>> @attrs.frozen
        ... class Closed: ...
        >>> MessageSet.of(Opened | Closed, "door", Opened).add(Closed).messages == (Opened, Closed)
        True
    """

    __slots__ = ("messages", "name", "union")

    def __init__(self, union: tuple[type, ...], name: str, messages: tuple[type, ...]) -> None:
        self.union = union
        self.name = name
        self.messages = messages

    @staticmethod
    def of(messages: object, name: str, first: type[W], /) -> MessageSet[W]:
        """Begin a set.

        Args:
            messages: The application's union of messages.
            name: The set's name.
            first: Its first message.

        Raises:
            ConstructionError: The class is no message of the union.
        """
        union = members_of(messages)
        return MessageSet(union, name, (_checked(first, union, name),))

    def add(self, message: type[W]) -> MessageSet[V | W]:
        """Give the set with one more message.

        Raises:
            ConstructionError: The class is no message of the union.
        """
        return MessageSet(self.union, self.name, (*self.messages, _checked(message, self.union, self.name)))


def check_subset(messages: MessageSet[Any], union: tuple[type, ...], described: Collection[type]) -> None:
    """Check that a set is of an application's messages, and that each of them is described, and nothing else.

    Raises:
        ConstructionError: It is not.
    """
    lines: list[str] = []
    if messages.union != union:
        lines.append("Contract.subset: the subset belongs to a different application")
    else:
        lines += [f'"{one.__name__}" has no description' for one in messages.messages if one not in described]
        lines += [f'"{name_of(one)}" is not in the subset' for one in described if one not in messages.messages]
    if lines:
        raise ConstructionError([Problem("MESSAGES", f'set "{messages.name}"', (*lines, str(caller_where())))])


def _checked(message: type[W], union: tuple[type, ...], name: str) -> type[W]:
    if message not in union:
        line = f'"{name_of(message)}" is not a variant of this Message union  {caller_where()}'
        raise ConstructionError([Problem("MESSAGES", f'set "{name}"', (line,))])
    return message
