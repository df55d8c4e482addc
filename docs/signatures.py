"""The reference as Markdown, one page for each public package, from signatures and docstrings alone.

Nothing is imported, so that no extra has to be there. What griffe finds wrong with a docstring (an argument that the
signature does not have, say) is a problem of the build.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import griffe

SECTIONS = {
    "parameters": "Arguments",
    "other parameters": "Other arguments",
    "returns": "Returns",
    "yields": "Yields",
    "raises": "Raises",
    "attributes": "Attributes",
}
# Overloads that differ in the number of services alone would fill a page.
SHOWN_OVERLOADS = 3


class _Collected(logging.Handler):
    """Keeps what griffe warns of; it logs, and raises nothing."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record.getMessage())


def reference(src: Path) -> tuple[dict[str, str], list[str]]:
    """Give the pages by their name, `lamina.effect.md`, and what is wrong with the docstrings."""
    warned = _Collected()
    logger = logging.getLogger("griffe")
    logger.addHandler(warned)
    logger.propagate = False
    try:
        root = griffe.load(
            "lamina",
            search_paths=[str(src)],
            docstring_parser="google",
            resolve_aliases=True,
            # The keywords of `**options: Unpack[...]` are arguments like the others to who reads.
            extensions=griffe.load_extensions(griffe.UnpackTypedDictExtension()),
        )
        assert isinstance(root, griffe.Module)
        public = {target.path for package in _packages(root) for _, target in _exported(package)}
        pages = {f"{package.path}.md": "\n".join(_package(package, public)) for package in _packages(root)}
    finally:
        logger.removeHandler(warned)
    return pages, list(dict.fromkeys(warned.found))


def _packages(root: griffe.Module) -> Iterator[griffe.Module]:
    """Walk the packages that hand something out; private modules are seen through them."""
    if root.exports:
        yield root
    for name, member in sorted(root.members.items()):
        if not name.startswith("_") and isinstance(member, griffe.Module) and member.is_init_module:
            yield from _packages(member)


def _exported(package: griffe.Module) -> Iterator[tuple[str, griffe.Object]]:
    """Give what a package hands out: the name, and what stands behind it."""
    for name in package.exports or ():
        found = package.members.get(str(name))
        if isinstance(found, griffe.Alias):
            yield str(name), found.final_target
        elif found is not None:
            yield str(name), found


def _package(package: griffe.Module, public: set[str]) -> Iterator[str]:
    yield f"# {package.path}\n"
    yield from _docstring(package)
    for name, target in _exported(package):
        yield f"\n## {name}\n"
        match target:
            case griffe.Class():
                yield from _class(target, public)
            case griffe.Function():
                yield from _function(target)
            case griffe.Attribute() if (maker := _called_like_a_function(target)) is not None:
                yield from _methods(maker, name)
            case griffe.Attribute():
                value = f" = {target.value}" if target.value is not None else ""
                yield f"```python\n{name}{value}\n```\n"
                yield from _docstring(target)
            case _:
                yield from _docstring(target)


def _called_like_a_function(one: griffe.Attribute) -> griffe.Class | None:
    """Give the class of `tool = ToolDecorator()`, which is read as the function that it stands for."""
    made = one.parent.members.get(str(one.value).removesuffix("()")) if one.parent is not None else None
    return made if isinstance(made, griffe.Class) and "__call__" in made.members else None


def _methods(one: griffe.Class, name: str) -> Iterator[str]:
    """Show what calling an instance does, and its methods, under the instance's name."""
    for method, member in one.members.items():
        if method == "__call__" and isinstance(member, griffe.Function):
            yield from _function(member, name)
        elif not method.startswith("_") and isinstance(member, griffe.Function) and member.docstring:
            yield f"\n### {name}.{method}\n"
            yield from _function(member)


def _class(one: griffe.Class, public: set[str]) -> Iterator[str]:
    bases = f"({', '.join(map(str, one.bases))})" if one.bases else ""
    lines = [f"@{decorator.value}" for decorator in one.decorators]
    lines.append(f"class {one.name}{bases}:")
    members = _members(one, public)
    fields = [
        member
        for name, member in members.items()
        if isinstance(member, griffe.Attribute) and member.annotation and not name.startswith("_")
        and "property" not in member.labels
    ]  # fmt: skip
    for member in fields:
        default = f" = {member.value}" if member.value is not None else ""
        lines.append(f"    {member.name}: {member.annotation}{default}")
    constructor = one.members.get("__init__")
    if not fields and isinstance(constructor, griffe.Function):
        lines.extend(f"    {line}" for line in _signatures(constructor, "__init__"))
    yield _fence("python", "\n".join(lines))
    yield from _docstring(one)
    for name, member in sorted(members.items(), key=lambda item: item[0] not in one.members):  # its own come first
        if name.startswith("_") or not member.docstring:
            continue
        if isinstance(member, griffe.Function):
            yield f"\n### {one.name}.{name}\n"
            yield from _function(member)
        elif isinstance(member, griffe.Attribute) and "property" in member.labels:
            yield f"\n### {one.name}.{name}\n"
            yield _fence("python", f"{name}: {member.annotation}")
            yield from _docstring(member)


def _members(one: griffe.Class, public: set[str]) -> dict[str, griffe.Object]:
    """Give a class's members with those of its bases that have no page of their own."""
    found: dict[str, griffe.Object] = {}
    for each in reversed([one, *(base for base in one.mro() if base.path not in public)]):
        found.update((name, member) for name, member in each.members.items() if not isinstance(member, griffe.Alias))
    return found


def _function(one: griffe.Function, name: str | None = None) -> Iterator[str]:
    yield _fence("python", "\n".join(_signatures(one, name or one.name)))
    yield from _docstring(one)


def _signatures(one: griffe.Function, name: str) -> list[str]:
    prefix = "async def" if "async" in one.labels else "def"
    overloads = one.overloads or [one]
    shown = [f"{prefix} {each.signature(name=name)}: ..." for each in overloads[:SHOWN_OVERLOADS]]
    left = len(overloads) - len(shown)
    return [*shown, f"# and {left} more, alike"] if left else shown


def _docstring(one: griffe.Object) -> Iterator[str]:
    if one.docstring is None:
        return
    for section in _sections(one, one.docstring):
        match section:
            case griffe.DocstringSectionText():
                yield _examples(section.value)
            case griffe.DocstringSectionAdmonition():
                yield f"\n**{section.title or section.value.kind.title()}**\n"
                yield _examples(section.value.contents)
            case griffe.DocstringSectionExamples():
                yield f"\n**{section.title or 'Examples'}**\n"
                yield "\n".join(_examples(text) for _, text in section.value)
            case _ if section.kind.value in SECTIONS:
                yield f"\n**{section.title or SECTIONS[section.kind.value]}**\n"
                yield from (_item(item) for item in section.value)
                yield ""
            case _:
                raise ValueError(f"{one.path}: a docstring section of a kind the reference cannot show: {section.kind}")


def _sections(one: griffe.Object, docstring: griffe.Docstring) -> list[griffe.DocstringSection]:
    if isinstance(one, griffe.Class) and "__init__" not in one.members:
        # attrs writes the constructor, which griffe cannot see: it takes each argument for an unknown one.
        return docstring.parse("google", warn_unknown_params=False, warn_missing_types=False)
    return docstring.parsed


def _item(item: object) -> str:
    name = getattr(item, "name", "") or ""
    annotation = getattr(item, "annotation", None)
    described = " ".join(str(getattr(item, "description", "")).split())
    label = f"`{name}`" if name else f"`{annotation}`" if annotation is not None else ""
    return f"- {label}: {described}" if label else f"- {described}"


def _examples(text: str) -> str:
    """Put the interpreter's sessions of a text into fences, with what they print."""
    shown: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.startswith(">>>"):
            shown.append("\n```pycon")
            inside = True
        elif inside and not line.strip():
            shown.append("```\n")
            inside = False
        shown.append(line)
    if inside:
        shown.append("```\n")
    return "\n".join(shown)


def _fence(language: str, text: str) -> str:
    # A long signature wraps at its arguments, not at the edge of the page.
    lines = [_wrapped(line) if len(line) > 100 else line for line in text.splitlines()]
    return f"```{language}\n" + "\n".join(lines) + "\n```\n"


def _wrapped(line: str) -> str:
    found = re.fullmatch(r"(?P<head>\s*(?:async )?def [\w.]+\()(?P<args>.*)(?P<tail>\) -> .*)", line)
    if found is None:
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    arguments = _split(found["args"])
    return "\n".join([found["head"], *(f"{indent}    {one}," for one in arguments), indent + found["tail"]])


def _split(arguments: str) -> list[str]:
    """Split at the commas that stand inside no bracket."""
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(arguments):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(arguments[begin:place].strip())
            begin = place + 1
    return [*parts, arguments[begin:].strip()]
