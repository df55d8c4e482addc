"""How a failed response leaves the code that reads it: an exception that never leaves the adapter."""

from __future__ import annotations

from lamina.model import InvalidOutput, ModelError


class Broken(Exception):
    """Carries the error out of the reading of a response; the adapter turns it into a `Failure`."""

    def __init__(self, error: ModelError) -> None:
        super().__init__()
        self.error = error

    @classmethod
    def unreadable(cls, detail: str) -> Broken:
        """Make the error for bytes that are not the provider's protocol; `detail` quotes nothing of them."""
        return cls(ModelError(InvalidOutput(), detail))
