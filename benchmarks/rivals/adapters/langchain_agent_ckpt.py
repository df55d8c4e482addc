"""langchain: create_agent with an in-memory checkpointer and a new thread for each run, as approval needs it."""

import itertools

from adapters._langchain import RECURSION_LIMIT, add_tool, fake_model
from scenario import Runs

IMPORT = "from langchain.agents import create_agent\nfrom langchain_core.tools import tool"


def build(delay: float) -> Runs:
    from langchain.agents import create_agent
    from langgraph.checkpoint.memory import InMemorySaver

    threads = itertools.count()

    def make(scenario):
        agent = create_agent(fake_model(scenario, delay), [add_tool()], checkpointer=InMemorySaver())

        async def run():
            options = {"recursion_limit": RECURSION_LIMIT, "configurable": {"thread_id": str(next(threads))}}
            state = await agent.ainvoke({"messages": [("user", "go")]}, options)
            return state["messages"][-1].content

        return run

    return {scenario: make(scenario) for scenario in "abc"}
