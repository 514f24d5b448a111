"""Compaction as a plugin: with it a session goes on for as long as one likes; without it, until the window is full."""

from __future__ import annotations

from collections.abc import AsyncIterator

from msgspec.structs import replace

from everlog.compaction.budget import SAME, TEMPLATE, CompactionSettings
from everlog.compaction.compactor import Policy
from everlog.compaction.seam import Assignment, Compactor
from everlog.compaction.summarisers import Conversation, Reader
from everlog.kernel import Context, plugin
from everlog.llm.seam import Models, Route, SideRequests


@plugin(requires=(Models, SideRequests), provides=(Compactor,))
async def compaction(ctx: Context) -> AsyncIterator[None]:
    """Shortens what the model sees when it becomes too much; the log keeps all of it."""
    settings, side = _settings(ctx), ctx[SideRequests]
    models, chosen = ctx[Models], settings.summarise_with

    def reader(assignment: Assignment) -> Route:
        return assignment.occasion.route if chosen in (SAME, TEMPLATE) else models.resolve(chosen)

    ctx.provide(Compactor, Policy(settings, Conversation(side), Reader(side, reader)))
    yield


def _settings(ctx: Context) -> CompactionSettings:
    """Give the settings; who reads the conversation is for the user to say, not for a project's file."""
    own = ctx.config.own.section(CompactionSettings, "plugin", ctx.name)
    return replace(ctx.settings(CompactionSettings), summarise_with=own.summarise_with)
