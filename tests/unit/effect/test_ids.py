from __future__ import annotations

import time

import pytest

from lamina.effect import SystemIds
from lamina.testing._ids import FixedIds


def test_ids_are_sorted_as_they_were_made() -> None:
    ids = SystemIds()
    made = [ids.new("run") for _ in range(5000)]
    assert made == sorted(set(made))


def test_ids_rise_though_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = SystemIds()
    before = ids.new("run")
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000)
    assert ids.new("run") > before


def test_ids_name_their_kind_and_hold_the_time() -> None:
    made = SystemIds().new("call")
    kind, _, rest = made.partition("-")
    assert kind == "call"
    assert abs(int(rest[:12], 16) / 1000 - time.time()) < 60


def test_fixed_ids_count_each_kind() -> None:
    ids = FixedIds()
    assert [ids.new("run"), ids.new("call"), ids.new("run")] == ["run-1", "call-1", "run-2"]
