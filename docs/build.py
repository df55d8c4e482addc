"""Build `site/` from the pages of this folder and the reference, and fail on anything that a reader would stumble on.

A page links to another by its relative path, `../how-to/write-a-tool.md`, so that links work in the repository as well.
Reference pages exist only in the site; pages link to them as if they lay in `reference/`.
"""

from __future__ import annotations

import html
import itertools
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import attrs
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from signatures import reference

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SITE = ROOT / "site"
FOLDERS = {"tutorial": "Tutorial", "how-to": "How to", "reference": "Reference", "explanation": "Explanation"}
# Pages of the repository whose links are checked, though they are no part of the site.
OUTSIDE = ("README.md", "CHANGELOG.md", "benchmarks/README.md")
FORMATTER = HtmlFormatter(nowrap=True)


@attrs.frozen
class Page:
    """A page: its path inside the site without suffix change, its tokens, its title and the anchors in it."""

    path: PurePosixPath
    tokens: list[Token]
    title: str
    anchors: frozenset[str]


def _slug(text: str) -> str:
    """Make the anchor that GitHub makes of a heading, so that a link works in both places."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))


def parse(path: PurePosixPath, text: str, *, raw_html: bool) -> Page:
    tokens = MarkdownIt("commonmark", {"html": raw_html}).enable("table").parse(text)
    anchors: set[str] = set()
    title = ""
    for opening, inline in itertools.pairwise(tokens):
        if opening.type != "heading_open":
            continue
        base = anchor = _slug(_plain(inline))
        number = 0
        while anchor in anchors:
            number += 1
            anchor = f"{base}-{number}"
        anchors.add(anchor)
        opening.attrSet("id", anchor)
        title = title or _plain(inline)
    # A comment tells the tests how to run a block, and a reader nothing.
    shown = [one for one in tokens if not (one.type == "html_block" and one.content.strip().startswith("<!--"))]
    return Page(path, shown, title, frozenset(anchors))


def links(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        for child in token.children or ():
            if child.type in ("link_open", "image"):
                yield child


def broken(page: Page, pages: dict[PurePosixPath, Page], base: Path) -> Iterator[str]:
    """Give a sentence for each link of a page that leads nowhere; links out of the repository are not followed."""
    for token in links(page.tokens):
        target = str(token.attrGet("href") or token.attrGet("src") or "")
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        named = unquote(parts.path)
        path = PurePosixPath(_normal(page.path.parent / named)) if named else page.path
        there = pages.get(path, page if path == page.path else None)
        if there is None and (path.parts[:1] == ("..",) or not (base / path).is_file()):
            yield f"{page.path}: {target} leads nowhere that a reader of the page can go"
        elif there is not None and parts.fragment and parts.fragment not in there.anchors:
            yield f"{page.path}: {target} names a heading that is not there"


def _normal(path: PurePosixPath) -> str:
    done: list[str] = []
    for part in path.parts:
        if part == ".." and done and done[-1] != "..":
            done.pop()
        elif part != ".":
            done.append(part)
    return "/".join(done)


def render(page: Page, pages: dict[PurePosixPath, Page], style: str) -> str:
    up = "../" * (len(page.path.parts) - 1)
    for token in links(page.tokens):
        target = str(token.attrGet("href") or "")
        if not urlsplit(target).scheme and urlsplit(target).path.endswith(".md"):
            token.attrSet("href", re.sub(r"\.md(?=#|$)", ".html", target))
    markdown = MarkdownIt("commonmark", {"html": True, "highlight": _coloured}).enable("table")
    body = markdown.renderer.render(page.tokens, markdown.options, {})
    return TEMPLATE.format(
        title=html.escape(page.title), style=style, home=f"{up}index.html", menu=_menu(page, pages, up), body=body
    )


def _coloured(code: str, language: str, _attributes: str) -> str:
    try:
        return highlight(code, get_lexer_by_name(language), FORMATTER)
    except ClassNotFound:
        return html.escape(code)


def _menu(page: Page, pages: dict[PurePosixPath, Page], up: str) -> str:
    parts: list[str] = []
    for folder, name in FOLDERS.items():
        inside = [one for one in pages.values() if one.path.parts[0] == folder and len(one.path.parts) > 1]
        inside.sort(key=lambda one: (one.path.stem != "index", one.path.stem))
        items = "".join(
            f'<li><a href="{up}{one.path.with_suffix(".html")}"{" aria-current=page" if one is page else ""}>'
            f"{html.escape(one.title)}</a></li>"
            for one in inside
        )
        parts.append(f"<h2>{name}</h2><ul>{items}</ul>" if inside else "")
    return "".join(parts)


TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · lamina</title>
<style>{style}</style>
</head>
<body>
<nav><p><a href="{home}">lamina</a></p>{menu}</nav>
<main>
{body}
</main>
</body>
</html>
"""

STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { display: flex; flex-wrap: wrap; gap: 2rem; max-width: 75rem; margin: 0 auto; padding: 1rem;
  font: 1rem/1.6 system-ui, sans-serif; }
nav { flex: 1 1 12rem; font-size: .9rem; } nav h2 { font-size: .9rem; margin: 1rem 0 0; }
nav ul { list-style: none; margin: 0; padding: 0; } nav a { text-decoration: none; }
nav [aria-current] { font-weight: bold; }
main { flex: 4 1 30rem; min-width: 0; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid var(--line); border-radius: .4rem; line-height: 1.4; }
code { font: .875rem ui-monospace, monospace; }
table { border-collapse: collapse; } td, th { border-bottom: 1px solid var(--line); padding: .3rem .8rem .3rem 0;
  text-align: left; vertical-align: top; }
h2 { margin-top: 2.5rem; }
"""


def main() -> None:
    generated, problems = reference(ROOT / "src")
    pages = [
        parse(PurePosixPath(path.relative_to(HERE).as_posix()), path.read_text("utf-8"), raw_html=True)
        for path in sorted(HERE.rglob("*.md"))
    ]
    pages += [parse(PurePosixPath("reference", name), text, raw_html=False) for name, text in generated.items()]
    by_path = {page.path: page for page in pages}
    for page in pages:
        problems += broken(page, by_path, HERE)
        if not page.title:
            problems.append(f"{page.path}: has no title")
        if len(page.path.parts) > 1 and page.path.parts[0] not in FOLDERS:
            problems.append(f"{page.path}: lies in none of {', '.join(FOLDERS)}")
    # The rest of the repository sees the pages under docs/.
    from_root = {PurePosixPath("docs") / path: attrs.evolve(page, path="docs" / path) for path, page in by_path.items()}
    for name in OUTSIDE:
        page = parse(PurePosixPath(name), (ROOT / name).read_text("utf-8"), raw_html=True)
        problems += broken(page, from_root, ROOT)
    if problems:
        print("\n".join(problems), file=sys.stderr)
        sys.exit(f"docs: {len(problems)} problems")

    shutil.rmtree(SITE, ignore_errors=True)
    style = STYLE + HtmlFormatter(style="default").get_style_defs("code")
    for page in pages:
        place = SITE / page.path.with_suffix(".html")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(render(page, by_path, style), encoding="utf-8")
    for path in HERE.rglob("*"):
        if path.suffix in (".png", ".svg", ".jpg"):
            shutil.copy(path, SITE / path.relative_to(HERE))
    print(f"docs: {len(pages)} pages in {SITE.relative_to(ROOT)}/")


if __name__ == "__main__":
    main()
