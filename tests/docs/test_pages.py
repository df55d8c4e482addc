"""Every block of the README and of `docs/` does what its page says; `pages.py` says how a page is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import PageError, blocks, run_page

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(ROOT))) for path in PAGES])
def test_page(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = str(path.relative_to(ROOT))
    wanted = sum(block.language == "python" and block.verb != "skip" for block in blocks(page, path.read_text("utf-8")))

    ran = run_page(path, page, tmp_path)

    assert ran >= wanted


GOOD = """
# A page

```python
from __future__ import annotations

class Thing:
    other: Thing

print("it is", type(Thing()).__name__)
```

<!-- test: output -->
```text
it is ...
```

- in a list

  ```python
  assert Thing
  ```

<!-- test: file app.py -->
```python
VALUE = 7
```

<!-- test: run -->
```console
$ python -c "import app; print(app.VALUE)"
7
$ true
```

<!-- test: skip, it is a sketch -->
```python
raise SystemExit
```

```sh
exit 1
```
"""


def _run(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.chdir(folder)
    page = folder / "page.md"
    page.write_text(text)
    return run_page(page, "page.md", folder)


def test_a_page_is_one_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(GOOD, tmp_path, monkeypatch) == 5


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("```python\nprint(1)\n```\n\n<!-- test: output -->\n```text\n2\n```\n", "page.md:7: expected"),
        ("<!-- test: run -->\n```sh\nexit 3\n```\n", "page.md:3: `exit 3\n` ended with 3"),
        ("<!-- test: skip -->\n```python\n1/0\n```\n", "page.md:3: test: skip gives no reason"),
        ("<!-- test: rum -->\n```sh\ntrue\n```\n", "unknown directive test: rum"),
        ("<!-- test: run -->\n\nText.\n", "stands above something that is no block"),
    ],
)
def test_a_page_that_is_wrong_is_named(text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PageError) as raised:
        _run(text, tmp_path, monkeypatch)

    assert why in str(raised.value)


def test_a_block_that_raises_names_the_line_of_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        _run("# Title\n\n```python\nx = 1\n\nx / 0\n```\n", tmp_path, monkeypatch)

    last = raised.traceback[-1]
    assert (Path(str(last.path)).name, last.lineno + 1) == ("page.md", 6)
