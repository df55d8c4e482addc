"""Agents: what they are, how far they may go, and the binding that runs (design §5)."""

from lamina.agent._agent import Agent
from lamina.agent._binding import Binding
from lamina.agent._policy import AgentPolicy, CompactionPolicy, DrainPolicy, OnExhaustion

__all__ = ["Agent", "AgentPolicy", "Binding", "CompactionPolicy", "DrainPolicy", "OnExhaustion"]
