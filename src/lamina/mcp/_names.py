"""Names of remote tools: the same for the same server and tool, whatever else there is, and good for every model."""

from __future__ import annotations

import hashlib
import re

LONGEST_NAME = 64
_SERVER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]|_(?=[A-Za-z0-9-])){0,31}")  # no __, and no _ at the end
_OTHERS = re.compile(r"[^A-Za-z0-9_-]+")
_DIGEST = 10


def is_server_name(name: str) -> bool:
    """Tell whether a server may have that name: what comes before the first `__` of a tool's name is a server's.

    Example:
        >>> is_server_name("git_hub-2"), is_server_name("git__hub"), is_server_name("git_")
        (True, False, False)
    """
    return _SERVER.fullmatch(name) is not None


def qualified(prefix: str, tool: str) -> str:
    """Give the name that an agent's model calls a remote tool by: `prefix__tool`, at most 64 characters.

    A name that no model's API takes, or that is too long, is shortened and ends with a digest of the whole.

    Example:
        >>> qualified("github", "create_issue"), qualified("", "create_issue")
        ('github__create_issue', 'create_issue')
        >>> qualified("files", "read/file")
        'files__read_file_031d513c2c'
    """
    start = f"{prefix}__" if prefix else ""
    plain = f"{start}{tool}"
    if len(plain) <= LONGEST_NAME and tool and not _OTHERS.search(tool):
        return plain
    digest = hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{start}{_OTHERS.sub('_', tool)}"[: LONGEST_NAME - _DIGEST - 1] + f"_{digest}"
