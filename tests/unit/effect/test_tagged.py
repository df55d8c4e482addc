from __future__ import annotations

from typing import Any

import pytest

from lamina.effect import ConstructionError, tagged


def declare(template: Any) -> type:
    @tagged(template)
    class Refused:
        host: str

        @property
        def shouted(self) -> str:
            return self.host.upper()

    return Refused


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{hots} refused", "the message names hots, which is no field or property"),
        ("{host} {0} {port.number}", "names 0, port"),
        ("{} refused", "has braces without a name"),
        ("{host refused", "is no format: expected '}'"),
    ],
)
def test_a_template_that_cannot_be_filled_is_refused(template: str, why: str) -> None:
    with pytest.raises(ConstructionError, match=f"(?s)TEMPLATE Refused.*{why}.*test_tagged.py:.*one of: host, shouted"):
        declare(template)


def test_a_decorator_without_its_message_is_refused() -> None:
    class Refused: ...

    with pytest.raises(ConstructionError, match="(?s)TEMPLATE Refused.*message is missing  .*test_tagged.py:"):
        tagged(Refused)  # type: ignore[arg-type]  # what `@tagged` above a class does


def test_a_message_is_filled_with_fields_and_properties() -> None:
    assert str(declare("{host} ({shouted}) refused {{all}}")("db")) == "db (DB) refused {all}"
