"""Layers, results and the services that every program needs: the floor that everything stands on."""

from lamina.effect._construction import ConstructionError, Problem
from lamina.effect._tagged import message_of, tag_of, tagged
from lamina.effect._where import Where, caller_where, where_of

__all__ = ["ConstructionError", "Problem", "Where", "caller_where", "message_of", "tag_of", "tagged", "where_of"]
