"""Sub-agents: a tool with which an agent has another one work on a task of its own, in a session of its own.

The child's header names its parent and how many agents stand above it. It works in the parent's folder and stands below
it: what was registered for the parent (permissions, a person who is asked, tools, hooks, limits) holds for the child.
Its last answer is the result of the call. Children that were asked for in one answer run together. A parent that is
cancelled cancels them; one whose process is killed leaves their logs as whole as its own.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec

from everlog.agent.seam import Agent, Agents
from everlog.kernel import Context, plugin
from everlog.session.header import new_header
from everlog.session.jsonvalue import JSONObject
from everlog.session.log import Log
from everlog.session.payloads import AssistantMessage, ToolCallEvent, TurnEnd
from everlog.tools.seam import Arguments, ArgumentsInvalid, Tool, ToolContext, ToolFailure, ToolOutput, Tools, output

ORIGIN = "subagent"
TOOL = "delegate"


class Delegation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[plugin.delegation]`.

    Attributes:
        depth: how many agents may stand above one; 0 offers the tool to nobody.
        model: what children ask, as `provider/model`; None is the parent's.
    """

    depth: int = 2
    model: str | None = None


DELEGATED = "everlog/delegated"
"""The type of the event, `{callId, session}`, with which a call says which session it began."""


class Delegator:
    """Has children work for the agents of one kernel."""

    def __init__(self, agents: Agents, settings: Delegation) -> None:
        self._agents = agents
        self._settings = settings

    async def delegate(self, context: ToolContext, task: str) -> ToolOutput:
        """Have a child work on a task, and give its last answer.

        Raises:
            ToolFailure: there is no agent to work for, it stands too deep, or the child did not come to its end.
        """
        parent = self._parent(context)
        depth = (parent.session.header.delegation_depth or 0) + 1
        if depth > self._settings.depth:
            text = f"No agent may have more than {self._settings.depth} above it: do the task yourself."
            raise ToolFailure(text, code="DELEGATION_TOO_DEEP")
        header = new_header(cwd=str(context.cwd), parent_session=parent.id, origin=ORIGIN, delegation_depth=depth)
        parent.session.append_json(DELEGATED, {"callId": context.call_id, "session": header.id}, ignorable=True)
        await context.flush()  # what the child does shall not be without what led to it
        child = await self._agents.create(self._settings.model or parent.model, header=header, below=parent)
        try:
            child.followup(task)
            await _ended(child)
        except asyncio.CancelledError:
            # The call is answered in its own words; the turn that it belongs to ends as it was going to.
            meta: JSONObject = {"session": child.id, "ended": "aborted"}
            raise ToolFailure(_cut_off(child.session), code="TOOL_CANCELLED", meta=meta) from None
        finally:
            await child.dispose()
        return _result(child.session)

    def _parent(self, context: ToolContext) -> Agent:
        if context.session is None:
            raise ToolFailure("There is no agent here that could delegate.", code="NO_AGENT")
        return self._agents.get(context.session.id)


async def _ended(child: Agent) -> None:
    """Wait for the child; being cancelled cancels it, and waits for that too."""
    try:
        await child.when_idle()
    except asyncio.CancelledError:
        child.cancel(kind="parent")
        with contextlib.suppress(asyncio.CancelledError):
            await child.when_idle()
        raise


def _result(log: Log) -> ToolOutput:
    """Give what the parent is told: the child's last answer, or why there is none."""
    meta: JSONObject = {"session": log.id}
    said = last_answer(log)
    reason = next((e.data.reason for e in reversed(log.events) if isinstance(e.data, TurnEnd)), None)
    if reason is not None and reason.kind == "completed":
        return output(said or "[the sub-agent said nothing]", {**meta, "ended": reason.kind})
    why = "was blocked" if reason is None else reason.kind
    detail = f": {reason.error.message}" if reason is not None and reason.error is not None else ""
    text = f"The sub-agent (session {log.id}) did not come to its end ({why}{detail})."
    last = f" It said last:\n{said}" if said else ""
    raise ToolFailure(text + last, code="DELEGATE_FAILED", meta={**meta, "ended": why})


def _cut_off(log: Log) -> str:
    """Say what is known of a child that was cancelled with the call: it may have changed things, as its tools do."""
    names = sorted({event.data.name for event in log.events if isinstance(event.data, ToolCallEvent)})
    text = f"The call was cancelled, and with it the sub-agent (session {log.id})."
    if not names:
        return f"{text} It had called no tool, so it changed nothing."
    return f"{text} It had called {', '.join(names)}: what that changed stands, so look before you repeat the task."


def last_answer(log: Log) -> str:
    """Give the text of the last answer of a log."""
    for event in reversed(log.events):
        if event.type == "assistant/message" and isinstance(event.data, AssistantMessage):
            return event.data.message.text
    return ""


_DESCRIPTION = """Have a sub-agent work on a task, and get its answer.

It has the same tools and folder and knows nothing of this conversation: say all that it needs. Ask for several in one
answer when their tasks do not depend on each other; they run together."""
_TASK: JSONObject = {"type": "string", "description": "What is to be done, in full, and what the answer shall hold."}


def delegating(delegator: Delegator) -> Tool:
    """Make the tool."""

    def check(given: JSONObject) -> Arguments:
        task = given.get("task")
        if not isinstance(task, str) or not task.strip() or given.keys() != {"task"}:
            raise ArgumentsInvalid("The arguments do not fit: `task` is a text, and there is nothing else.")
        return {"task": task}

    async def invoke(context: ToolContext, arguments: Arguments) -> ToolOutput:
        return await delegator.delegate(context, str(arguments["task"]))

    return Tool(
        name=TOOL,
        description=_DESCRIPTION,
        parameters={
            "type": "object",
            "properties": {"task": _TASK},
            "required": ["task"],
            "additionalProperties": False,
        },
        check=check,
        invoke=invoke,
        effects="mutating",  # a child's tools may be
        by_parts=True,
        parallel_safe=True,
    )


@plugin(requires=(Agents, Tools), enabled=False)
async def delegation(ctx: Context) -> AsyncIterator[None]:
    """Lets agents have sub-agents."""
    ctx[Tools].add(delegating(Delegator(ctx[Agents], ctx.settings(Delegation))), ctx)
    yield
