"""Words and exceptions of others, made safe to keep: bounded, and read without running any code of theirs."""

from __future__ import annotations

LONGEST_MESSAGE = 4096
LONGEST_TAG = 128

_name_of_type = type.__dict__["__name__"].__get__
_args_of_exception = vars(BaseException)["args"].__get__


def bounded(text: object, limit: int = LONGEST_MESSAGE) -> str:
    """Keep at most `limit` characters of a text, and nothing of what is no text.

    Args:
        text: A text; a value of any other class gives the empty one, for reading it could run its own code.
        limit: How many characters to keep.

    Returns:
        A text that can be encoded: a lone surrogate becomes `?`.

    Example:
        >>> bounded("abcdef", 3), bounded(object())
        ('abc', '')
    """
    if type(text) is not str:
        return ""
    return text[:limit].encode("utf-8", "replace").decode()


def tag_of_foreign(error: BaseException) -> str:
    """Give an exception's class name, at most 128 characters, whatever its metaclass says.

    Example:
        >>> tag_of_foreign(ValueError("x"))
        'ValueError'
    """
    return bounded(_name_of_type(type(error)), LONGEST_TAG)


def words_of_foreign(error: BaseException) -> str:
    """Give the texts that an exception was made with, at most 4 096 characters, without calling its `__str__`.

    Only arguments that are exactly texts or whole numbers are read: an object's own conversion could raise, block or
    leak.

    Example:
        >>> words_of_foreign(OSError(2, "No such file"))
        '2 No such file'
    """
    words = [bounded(arg) if type(arg) is str else str(arg)[:LONGEST_TAG] for arg in _args_of(error)]
    return bounded(" ".join(words))


def _args_of(error: BaseException) -> list[str | int]:
    args: tuple[object, ...] = _args_of_exception(error)
    # A number of thousands of digits cannot be printed; no message needs one.
    return [arg for arg in args[:16] if type(arg) is str or (type(arg) is int and abs(arg) < 2**63)]
