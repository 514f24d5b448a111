"""The sources of context that plugins added, and what they have for a step."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

from everlog.kernel import Context, Registration, Registry, Scope, plugin
from everlog.prompt.seam import Contexts, ContextSource
from everlog.session.log import Log
from everlog.session.messages import Message

logger = logging.getLogger(__name__)


class Sources(Contexts):
    """Sources in a registry; `root` is where those stand that are for everybody."""

    def __init__(self, root: Scope) -> None:
        self._root = root
        self._sources = Registry[ContextSource]("context sources")

    def add(self, source: ContextSource, scope: Scope | None = None) -> Registration:
        """Add a source; see `Contexts.add`."""
        return self._sources.add(scope or self._root, source)

    def due(self, scope: Scope, log: Log) -> list[Message]:
        """Give what the sources have for the next step."""
        found: list[Message] = []
        for source in self._sources.seen_from(scope):
            try:
                found += source(log)
            except Exception:
                logger.exception("a source of context failed and is left out")
        return found


@plugin(provides=(Contexts,))
async def contexts(ctx: Context) -> AsyncIterator[None]:
    """Tells models of what changes while they work, as plugins add it."""
    ctx.provide(Contexts, Sources(ctx))
    yield
