"""What applications get for their own tests: scripted models, and suites that hold an implementation to its port."""

from lamina.testing._situations import (
    HISTORY_REQUEST,
    OUTPUT_REQUEST,
    PLAIN_REQUEST,
    TOOLS_REQUEST,
    ModelSituations,
    Prepared,
)

__all__ = ["HISTORY_REQUEST", "OUTPUT_REQUEST", "PLAIN_REQUEST", "TOOLS_REQUEST", "ModelSituations", "Prepared"]
