"""`--model`: which model an agent is put on."""

from __future__ import annotations

from typing import Never

import attrs

from lamina.cli._exits import UsageError
from lamina.cli._plain import printable
from lamina.effect import ConstructionError, Layer
from lamina.model import LanguageModel

MODEL_HELP = "scripted (the demo's own), local (a packaged model, offline), or openai:NAME (also any --base-url)"


@attrs.frozen
class ModelChoice:
    """What `--model` and `--base-url` say.

    Attributes:
        kind: `scripted`, `local`, or `openai`.
        name: The model's name at the provider; empty for the first two.
        base_url: Where the API is; None for the provider's own.
    """

    kind: str
    name: str = ""
    base_url: str | None = None

    @property
    def title(self) -> str:
        """The model, for people."""
        return f"{self.kind}:{self.name}" if self.name else self.kind

    def layer(self) -> Layer[Never, LanguageModel, Never]:
        """Give the model's layer; the package that it stands on is imported here and not before.

        Raises:
            UsageError: What the model stands on is missing; the error has the command that gets it.
        """
        try:
            if self.kind == "local":
                from lamina.providers.local import local_model

                return local_model()
            from lamina.providers.openai import openai_model

            return openai_model(self.name, base_url=self.base_url)
        except ConstructionError as error:
            lacking = [printable(problem.subject) for problem in error.problems if problem.kind == "MISSING"]
            wrong = [printable(problem.subject) for problem in error.problems if problem.kind != "MISSING"]
            why = (f" without {', '.join(lacking)}" if lacking else "") + (f": {'; '.join(wrong)}" if wrong else "")
            mend = dict.fromkeys(problem.write for problem in error.problems if problem.write is not None)
            raise UsageError(f"The model {printable(self.title)} cannot be used here{why}.", *mend) from None


def model_choice(text: str | None, base_url: str | None) -> ModelChoice | None:
    """Read the two options; None where neither is given.

    Raises:
        UsageError: The model is none that there is, or the URL is given for one that has none.
    """
    if text is None:
        if base_url is not None:
            raise UsageError("--base-url says where a model is, but not which.", "Add --model openai:NAME.")
        return None
    kind, colon, name = text.partition(":")
    if kind == "openai" and not name:
        raise UsageError("--model openai needs a model's name.", "Write --model openai:NAME, as in openai:gpt-5.")
    if kind not in ("scripted", "local", "openai") or (colon and kind != "openai"):
        raise UsageError(f"There is no model {printable(text)!r}.", "Write scripted, local, or openai:NAME.")
    if base_url is not None and kind != "openai":
        raise UsageError(f"--base-url does not go with --model {kind}.", "It goes with --model openai:NAME.")
    return ModelChoice(kind, name, base_url)
