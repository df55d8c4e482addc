"""langgraph: the prebuilt ReAct agent."""

from adapters._langchain import RECURSION_LIMIT, add_tool, fake_model
from scenario import Runs

IMPORT = "from langgraph.prebuilt import create_react_agent\nfrom langchain_core.tools import tool"


def build(delay: float) -> Runs:
    import warnings

    warnings.simplefilter("ignore")
    from langgraph.prebuilt import create_react_agent

    def make(scenario):
        agent = create_react_agent(fake_model(scenario, delay), [add_tool()])

        async def run():
            state = await agent.ainvoke({"messages": [("user", "go")]}, {"recursion_limit": RECURSION_LIMIT})
            return state["messages"][-1].content

        return run

    return {scenario: make(scenario) for scenario in "abc"}
