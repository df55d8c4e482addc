"""JSON Schema of those who are not trusted: read and applied in bounded time, whatever it says.

Laws that hold here:

1. Nothing is done whose cost is not bounded by the size of what is given: lists and texts are paid for by their size,
   and before anything is done to them.
2. Nothing recurses on what a schema refers to while it is read; what it refers to is read once.
3. A check that cannot be made is left out only where that lets more pass, never less, and it is told.
"""

from lamina.schema._bounded._schema import BoundedSchema

__all__ = ["BoundedSchema"]
