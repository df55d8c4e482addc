"""Results that are content for a reader and not a value: texts, images, sounds, documents and links to them."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from lamina.effect import Value


@attrs.frozen(eq=False, repr=False)
class TextContent(Value):
    """A text."""

    text: str
    type: Literal["text"] = "text"


@attrs.frozen(eq=False, repr=False)
class ImageContent(Value):
    """An image.

    Attributes:
        data: Its bytes, in base64.
        media_type: Like `image/png`.
    """

    data: str
    media_type: str
    type: Literal["image"] = "image"


@attrs.frozen(eq=False, repr=False)
class AudioContent(Value):
    """A sound.

    Attributes:
        data: Its bytes, in base64.
        media_type: Like `audio/wav`.
    """

    data: str
    media_type: str
    type: Literal["audio"] = "audio"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DocumentContent(Value):
    """A document that is part of the answer: a text, or bytes.

    Attributes:
        uri: What it is called.
        media_type: Like `text/plain`; None where nobody said.
        text: Its text; None for bytes.
        blob: Its bytes in base64; None for a text.
    """

    uri: str
    media_type: str | None = None
    text: str | None = None
    blob: str | None = None
    type: Literal["document"] = "document"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class LinkContent(Value):
    """A link to a document that may be read.

    Attributes:
        uri: What it is called.
        name: What people call it.
        description: What it is.
        media_type: Like `text/plain`; None where nobody said.
    """

    uri: str
    name: str
    description: str = ""
    media_type: str | None = None
    type: Literal["link"] = "link"


ContentItem: TypeAlias = TextContent | ImageContent | AudioContent | DocumentContent | LinkContent


@attrs.frozen(eq=False, repr=False)
class Contents(Value):
    """What a capability answers that gives content.

    When to use: as a handler's return type, where the reader wants an image or a document. An agent's model is told
    the same as JSON; a protocol that knows content sends each item as what it is.

    Attributes:
        content: The items, in order.

    Example:
        >>> Contents((TextContent("Hello"),)).content[0].text
        'Hello'
    """

    content: tuple[ContentItem, ...]
