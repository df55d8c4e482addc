"""Layers, results and the services that every program needs: the floor that everything stands on."""

from lamina.effect._backend import is_a_raise, is_cancelled
from lamina.effect._bind import Bind, bind
from lamina.effect._call import Compiled
from lamina.effect._clock import Alarm, Clock, SystemClock
from lamina.effect._construction import ConstructionError, Problem
from lamina.effect._constructors import attempt, layer, scoped
from lamina.effect._environment import AcquisitionFailed, Environment, Scope
from lamina.effect._handler import Handler
from lamina.effect._handlers import fallible, handler
from lamina.effect._ids import Ids, SystemIds
from lamina.effect._layer import Buildable, Layer, Parts, Subset, empty_layer
from lamina.effect._log import log
from lamina.effect._names import name_of
from lamina.effect._plan import Plan, plan
from lamina.effect._program import Declaration, Program, Requirement
from lamina.effect._seeds import Covered, Offered, Seeds, SeedsFor, seed
from lamina.effect._signature import Need, read_needs, resolved_hints
from lamina.effect._tagged import message_of, tag_of, tagged
from lamina.effect._tree import Life
from lamina.effect._try import Try, run_fallible
from lamina.effect._value import Value
from lamina.effect._where import Where, caller_where, where_of

__all__ = [
    "AcquisitionFailed",
    "Alarm",
    "Bind",
    "Buildable",
    "Clock",
    "Compiled",
    "ConstructionError",
    "Covered",
    "Declaration",
    "Environment",
    "Handler",
    "Ids",
    "Layer",
    "Life",
    "Need",
    "Offered",
    "Parts",
    "Plan",
    "Problem",
    "Program",
    "Requirement",
    "Scope",
    "Seeds",
    "SeedsFor",
    "Subset",
    "SystemClock",
    "SystemIds",
    "Try",
    "Value",
    "Where",
    "attempt",
    "bind",
    "caller_where",
    "empty_layer",
    "fallible",
    "handler",
    "is_a_raise",
    "is_cancelled",
    "layer",
    "log",
    "message_of",
    "name_of",
    "plan",
    "read_needs",
    "resolved_hints",
    "run_fallible",
    "scoped",
    "seed",
    "tag_of",
    "tagged",
    "where_of",
]
