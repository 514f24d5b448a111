"""An agent in ten lines. A script answers in place of a model; name `openai/gpt-4.1` to ask one."""

import asyncio

from everlog import Harness
from everlog.llm.script import scripted


async def main() -> str:
    async with Harness(store="memory:", plugins=[scripted({"demo": ["Hello from a script."]})]) as harness:
        agent = await harness.agents.create("script/demo", cwd=".")
        agent.followup("Say hello.")
        await agent.when_idle()
        return agent.session.messages()[-1].text


if __name__ == "__main__":
    print(asyncio.run(main()))
