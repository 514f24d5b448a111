"""An own tool, hook, event type and projection, and several agents in one process."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from everlog import Event, Harness
from everlog.agent.seam import PRE_STEP, Enter, Proposal, Reject
from everlog.kernel import Config, Context, plugin
from everlog.llm.script import scripted
from everlog.session.log import Log
from everlog.tools.declare import tool
from everlog.tools.seam import ToolContext, Tools


@tool(effects="read-only", parallel_safe=True)
async def word_count(context: ToolContext, text: str) -> int:
    """Count the words of a text.

    Args:
        text: The text.
    """
    return len(text.split())


async def no_secrets(next: Any, proposal: Proposal) -> Enter | Reject:
    if any("password" in message.text for message in proposal.messages):
        return Reject("it names a password")
    answer: Enter | Reject = await next(proposal)
    return answer


@plugin(requires=(Tools,))
async def counting(ctx: Context) -> AsyncIterator[None]:
    """Lets agents count words, and keeps passwords from them."""
    ctx[Tools].add(word_count, ctx)
    ctx.on(PRE_STEP, no_secrets)
    yield


class Calls:
    """A projection: how often each tool was called."""

    name = "example/calls"
    version = 1

    def init(self) -> dict[str, int]:
        return {}

    def apply(self, state: dict[str, int], event: Event) -> None:
        if event.type == "tool/call":
            name = event.data["name"]  # type: ignore[index,call-overload]
            state[name] = state.get(name, 0) + 1

    def view(self, state: dict[str, int], log: Log) -> dict[str, int]:
        return dict(state)


ANSWERS = [{"call": {"name": "word_count", "arguments": {"text": "to be or not to be"}}}, "Six words."]


async def main() -> list[str]:
    told = []
    harness = Harness(Config(), "memory:", [counting, scripted({"demo": ANSWERS})])
    async with harness:
        agents = [await harness.agents.create("script/demo", cwd=".") for _ in range(3)]
        for agent in agents:
            agent.session.observe(lambda event: told.append(event.type))
            agent.followup("How many words?")
        await asyncio.gather(*(agent.when_idle() for agent in agents))
        for agent in agents:
            agent.session.append_json("example/counted", {"words": 6}, ignorable=True)  # an event type of one's own
            assert agent.session.project(Calls()) == {"word_count": 1}
        agents[0].followup("My password is 1234.")
        await agents[0].when_idle()
    return told


if __name__ == "__main__":
    print(f"{len(asyncio.run(main()))} events")
