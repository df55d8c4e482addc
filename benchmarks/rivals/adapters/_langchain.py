"""The fake model and the tool that the three LangChain adapters share."""

from scenario import FINAL, HITS, model_wait, plan

# A graph counts its steps, and c takes more than the default allows.
RECURSION_LIMIT = 5000


def fake_model(scenario, delay):
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    # A turn adds the model's message and one message for each call.
    messages_a_turn = 9 if scenario == "b" else 2

    class FakeModel(BaseChatModel):
        @property
        def _llm_type(self):
            return "fake"

        def bind_tools(self, tools, **options):
            return self

        def _generate(self, *arguments, **options):
            raise NotImplementedError

        async def _agenerate(self, messages, stop=None, run_manager=None, **options):
            await model_wait(delay)
            calls = plan(scenario, (len(messages) - 1) // messages_a_turn)
            if calls is None:
                message = AIMessage(content=FINAL)
            else:
                asked = [{"id": call, "name": "add", "args": given} for call, given in calls]
                message = AIMessage(content="", tool_calls=asked)
            return ChatResult(generations=[ChatGeneration(message=message)])

    return FakeModel()


def add_tool():
    from langchain_core.tools import tool

    @tool
    async def add(x: int) -> int:
        """Add one."""
        HITS[0] += 1
        return x + 1

    return add
