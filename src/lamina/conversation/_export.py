"""A conversation as JSON lines: a head, then each record with its digest (`lamina/conversation@1`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from returns.result import Failure, Result, Success

from lamina.conversation._chain import body_of, chain
from lamina.conversation._errors import ConversationDamaged
from lamina.conversation._json import Malformed, dump, dump_as_given, load, members, number, text
from lamina.conversation._load import Line
from lamina.conversation.port import Tail

FORMAT = "lamina/conversation@1"
_HEAD = ("format", "conversation", "seq", "digest", "after", "previous")
_LINE = ("seq", "id", "batch", "kind", "version", "created", "payload", "digest")


def head_line(conversation: str, tail: Tail, before: Tail) -> str:
    """Write the head: whose log it is, where it ends, and where the lines begin."""
    return dump(
        {
            "format": FORMAT,
            "conversation": conversation,
            "seq": tail.seq,
            "digest": tail.digest,
            "after": before.seq,
            "previous": before.digest,
        }
    ).decode()


def record_line(line: Line) -> str:
    """Write one record."""
    return dump_as_given(
        {
            "seq": line.seq,
            "id": line.id,
            "batch": line.batch,
            "kind": line.kind,
            "version": line.version,
            "created": line.created,
            "payload": line.value,
            "digest": line.digest,
        }
    ).decode()


def verify_export(lines: Sequence[str]) -> Result[Tail, ConversationDamaged]:
    """Compute the digests of an export anew, without a store.

    Args:
        lines: What `Conversations.export` gave, head first.

    Returns:
        Where the lines end; `ConversationDamaged` tells the first position that is wrong, 0 for the head.

    Example:
        >>> verify_export(['{"format":"another"}']).failure().seq
        0
    """
    conversation, read = "", 0
    try:
        head = members(load(lines[0].encode() if lines else b""), _HEAD)
        if head["format"] != FORMAT:
            raise Malformed
        conversation = text(head["conversation"])
        tail = Tail(number(head["after"]), text(head["previous"]))
        read = tail.seq
        batch: list[Line] = []
        for line in map(_read_line, lines[1:]):
            if batch and batch[0].batch != line.batch:
                tail, batch = _check(batch, tail), []
            read = line.seq
            batch.append(line)
        if batch:
            tail = _check(batch, tail)
    except _Wrong as wrong:
        return Failure(ConversationDamaged(conversation, wrong.seq, "digest"))
    except (Malformed, UnicodeEncodeError):
        return Failure(ConversationDamaged(conversation, read, "record"))
    if tail.seq == head["seq"] and tail.digest != head["digest"]:
        return Failure(ConversationDamaged(conversation, tail.seq, "digest"))
    return Success(tail)


class _Wrong(Exception):
    def __init__(self, seq: int) -> None:
        super().__init__()
        self.seq = seq


def _read_line(given: str) -> Line:
    line = members(load(given.encode()), _LINE)
    return Line(
        number(line["seq"]),
        text(line["id"]),
        text(line["batch"]),
        text(line["kind"]),
        number(line["version"]),
        number(line["created"]),
        line["payload"],
        text(line["digest"]),
        0,
    )


def _check(batch: Iterable[Line], before: Tail) -> Tail:
    lines = tuple(batch)
    digest = chain(body_of([(line.id, line.kind, line.version, dump(line.value)) for line in lines]), before.digest)
    for seq, line in enumerate(lines, before.seq + 1):
        if (line.seq, line.digest) != (seq, digest):
            raise _Wrong(seq)
    return Tail(before.seq + len(lines), digest)
