"""google-adk: an LlmAgent in an InMemoryRunner, a new session for each run."""

from scenario import FINAL, HITS, Runs, model_wait, plan

IMPORT = "from google.adk.agents import LlmAgent\nfrom google.adk.runners import InMemoryRunner"


def build(delay: float) -> Runs:
    import logging
    import warnings

    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    from google.adk.agents import LlmAgent
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_response import LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    class FakeModel(BaseLlm):
        scenario: str = "a"

        async def generate_content_async(self, llm_request, stream=False):
            await model_wait(delay)
            calls = plan(self.scenario, (len(llm_request.contents) - 1) // 2)
            if calls is None:
                parts = [types.Part(text=FINAL)]
            else:
                parts = [
                    types.Part(function_call=types.FunctionCall(id=call, name="add", args=given))
                    for call, given in calls
                ]
            yield LlmResponse(content=types.Content(role="model", parts=parts))

    async def add(x: int) -> int:
        """Add one."""
        HITS[0] += 1
        return x + 1

    def make(scenario):
        agent = LlmAgent(name="a", model=FakeModel(model="fake", scenario=scenario), tools=[add])
        runner = InMemoryRunner(agent=agent, app_name="bench")

        async def run():
            session = await runner.session_service.create_session(app_name="bench", user_id="u")
            message = types.Content(role="user", parts=[types.Part(text="go")])
            answer = None
            async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message):
                if event.content and event.content.parts and event.content.parts[0].text:
                    answer = event.content.parts[0].text
            return answer

        return run

    return {scenario: make(scenario) for scenario in "abc"}
