"""The command as a module, for where its script is not on the path."""

from __future__ import annotations

import runpy

import pytest


@pytest.mark.parametrize("module", ["lamina", "lamina.cli"])
def test_the_package_is_the_command(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["lamina", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(module, run_name="__main__")
    assert ended.value.code in (0, None)
    assert capsys.readouterr().out.startswith("lamina ")
