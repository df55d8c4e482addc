"""What a contract exposes, without its application's types: what plans, describes and serves it needs no more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from lamina.approval import Approval
from lamina.audit import Audit
from lamina.contract._ground import duplicates
from lamina.contract._projection import Reading
from lamina.contract._resource import DeclaredResource
from lamina.contract._variant import Variant
from lamina.effect import Clock, Declaration, Ids, Program, Requirement, Where
from lamina.redaction import Secrets
from lamina.schema import JsonValue
from lamina.telemetry import Telemetry

if TYPE_CHECKING:
    from lamina.contract._describe import MessageInfo, Wiring

In = TypeVar("In", covariant=True)

_WRITE_APPROVAL = '| bind(Approval).to(CallerApproval, life="request")'


@attrs.frozen(eq=False, kw_only=True, repr=False)
class Exposed(Program[In]):
    """A contract as data; `Contract` says what each field is."""

    model: type[Any]  # Any: `Contract` has the types of its application
    union: tuple[type, ...]
    principal: type[Any] | None
    name: str
    version: str
    context: Reading | None
    variants: tuple[Variant, ...]
    declared: tuple[DeclaredResource, ...]
    where: Where

    @property
    def messages(self) -> tuple[MessageInfo, ...]:
        """What is exposed, as plain data, in declaration order."""
        from lamina.contract._describe import message_infos

        return message_infos(self)

    @property
    def resources(self) -> tuple[DeclaredResource, ...]:
        """The declared resources."""
        return self.declared

    @property
    def context_schema(self) -> Mapping[str, JsonValue] | None:
        """The JSON Schema of the context; None where nothing is projected."""
        return None if self.context is None else self.context.codec.json_schema

    def manifest(self) -> dict[str, JsonValue]:
        """Give the contract as JSON: the same for the same contract, and read from no model."""
        from lamina.contract._describe import manifest

        return manifest(self)

    def manifest_json(self) -> str:
        """Give the manifest's text, byte for byte the same each time: what one commits, and compares."""
        from lamina.contract._describe import manifest_json

        return manifest_json(self)

    def markdown(self) -> str:
        """Give the contract as a page for people."""
        from lamina.contract._describe import markdown

        return markdown(self)

    def wiring(self) -> Wiring:
        """Say what the contract touches of the application: the paths it observes and the tags it exposes."""
        from lamina.contract._describe import wiring

        return wiring(self)

    def declare(self) -> Declaration:
        """Ask for what the variants need of a runtime."""
        asked = tuple(
            Requirement(Approval, f"{one.name} (needs_approval)", one.where, write=_WRITE_APPROVAL)
            for one in self.variants
            if one.ask is not None
        )
        used = tuple(
            Requirement(key, f'contract "{self.name}"', self.where, optional=True)
            for key in (Audit, Telemetry, Clock, Ids, Secrets)
        )
        return Declaration(f'contract "{self.name}"', self.where, (*asked, *used), tuple(duplicates(self.variants)))

    def __repr__(self) -> str:
        return f"Contract({self.name}: {', '.join(one.name for one in self.variants) or 'exposes nothing'})"
