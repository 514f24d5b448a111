"""Summaries by models: by the conversation's own, which has read it all already, or by another that is handed the text.

Both ask beside the conversation, by a side request. The first sends what the model sees now, under the same
configuration and tools, and one message more: so the provider has all of it in its cache but the last message.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from everlog.compaction import instructions
from everlog.compaction.rendering import rendered
from everlog.compaction.seam import Assignment, CompactionFailed, Summariser, Summary
from everlog.llm.seam import Aside, Route, SideAnswer, SideRequests
from everlog.session.messagelist import message_of
from everlog.session.messages import PluginSource, system_message, user_message
from everlog.session.payloads import RequestHeader
from everlog.session.views import json_raw

PURPOSE = "summary"
_SOURCE = PluginSource(plugin="compaction", form="instruction")

_CHARACTERS_PER_TOKEN = 2
"""Of the text that is handed to another model: few enough for code, JSON and most languages."""


class SummaryUnusable(CompactionFailed):
    """The model answered, and not with a summary."""

    code = "SUMMARY_UNUSABLE"


class Conversation(Summariser):
    """Asks the conversation's own model, in the conversation."""

    def __init__(self, side: SideRequests) -> None:
        self._side = side

    async def summarise(self, assignment: Assignment) -> Summary:
        """Give the model's summary. Raises SummaryUnusable, ModelFailure."""
        occasion = assignment.occasion
        told = instructions.of_conversation(assignment.keeps, assignment.tokens, occasion.focus)
        aside = Aside(
            session=occasion.session,
            scope=occasion.scope,
            route=occasion.route,
            header=_with_room(occasion.header, 2 * assignment.tokens),
            purpose=PURPOSE,
            messages=[user_message(told, _SOURCE)],
            prefix="surface",
            compaction_id=assignment.compaction_id,
        )
        return _summary(await self._side.ask(aside), occasion.route)


class Reader(Summariser):
    """Hands the messages as text to a model that was not part of the conversation."""

    def __init__(self, side: SideRequests, route: Callable[[Assignment], Route], window: int = 32_000) -> None:
        """`window` is what is expected of a route that does not say how much its model can take."""
        self._side = side
        self._route = route
        self._window = window

    async def summarise(self, assignment: Assignment) -> Summary:
        """Give the model's summary. Raises SummaryUnusable, ModelFailure, and what finding the model raises."""
        occasion, route = assignment.occasion, self._route(assignment)
        events = occasion.session.events.pick(assignment.nodes)
        messages = [message for event in events if (message := message_of(event)) is not None]
        room = (route.context_window or self._window) - 2 * assignment.tokens
        text = rendered(messages, max(2_000, room * _CHARACTERS_PER_TOKEN))
        told = instructions.of_text(assignment.tokens, occasion.focus)
        aside = Aside(
            session=occasion.session,
            scope=occasion.scope,
            route=route,
            header=route.header(),
            purpose=PURPOSE,
            messages=[system_message(told), user_message(text, _SOURCE)],
            compaction_id=assignment.compaction_id,
        )
        return _summary(await self._side.ask(aside), route)


def _with_room(header: RequestHeader, tokens: int) -> RequestHeader:
    """Give the header with an output ceiling that a summary fits under; nothing that a provider caches by changes."""
    config = header.config
    ceiling = config.get("maxTokens") if isinstance(config, dict) else None
    if not isinstance(config, dict) or not isinstance(ceiling, int | float) or ceiling >= tokens:
        return header
    return replace(header, config_json=json_raw({**config, "maxTokens": tokens}))


def _summary(answer: SideAnswer, route: Route) -> Summary:
    """Give what the answer says; one that asks for tools, or was cut off, is none."""
    text = answer.message.text.strip()
    if answer.message.calls:
        raise SummaryUnusable(f"{route.name} asked for tools instead of writing a summary", answer.usage)
    if answer.finish_reason == "max-tokens" or not text:
        raise SummaryUnusable(f"{route.name} did not bring its summary to an end", answer.usage)
    return Summary(text, route.provider, route.model, answer.usage)
