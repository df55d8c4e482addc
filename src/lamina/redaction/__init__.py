"""What may leave, in two strengths: without secrets, and as a shape only (design §8)."""

from lamina.redaction._forms import forms_of
from lamina.redaction._matcher import MASK, SecretPattern
from lamina.redaction._secrets import LONGEST_SECRET, SHORTEST_SECRET, SecretRefused, Secrets
from lamina.redaction._shape import MOST_BYTES, MOST_DEPTH, MOST_NODES, shape
from lamina.redaction._stream import StreamRedactor
from lamina.redaction._walk import TOO_DEEP, TOO_LARGE, RedactionLimits

__all__ = [
    "LONGEST_SECRET",
    "MASK",
    "MOST_BYTES",
    "MOST_DEPTH",
    "MOST_NODES",
    "SHORTEST_SECRET",
    "TOO_DEEP",
    "TOO_LARGE",
    "RedactionLimits",
    "SecretPattern",
    "SecretRefused",
    "Secrets",
    "StreamRedactor",
    "forms_of",
    "shape",
]
