"""The sources of context that plugins added, and what they have for a step."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

from everlog.kernel import Context, Registration, Registry, Scope, plugin
from everlog.prompt.facts import message_of
from everlog.prompt.seam import Contexts, ContextSource, Fact
from everlog.session.log import Log
from everlog.session.messages import Message

logger = logging.getLogger(__name__)


class Sources(Contexts):
    """Sources in a registry; `root` is where those stand that are for everybody."""

    def __init__(self, root: Scope) -> None:
        self._root = root
        self._sources = Registry[ContextSource]("context sources")
        self._facts = Registry[Fact]("facts")

    def add(self, source: ContextSource, scope: Scope | None = None) -> Registration:
        """Add a source; see `Contexts.add`."""
        return self._sources.add(scope or self._root, source)

    def add_fact(self, fact: Fact, scope: Scope | None = None) -> Registration:
        """Add a fact; see `Contexts.add_fact`."""
        return self._facts.add(scope or self._root, fact)

    def due(self, scope: Scope, log: Log) -> list[Message]:
        """Give what the sources have for the next step."""
        found: list[Message] = []
        for source in self._sources.seen_from(scope):
            try:
                found += source(log)
            except Exception:
                logger.exception("a source of context failed and is left out")
        by_name = {fact.name: _contained(fact) for fact in self._facts.seen_from(scope)}
        told = message_of(list(by_name.values()), scope, log)
        return found if told is None else [*found, told]


def _contained(fact: Fact) -> Fact:
    """Give the fact as one that does not raise."""

    def text(log: Log, scope: Scope) -> str | None:
        try:
            return fact.text(log, scope)
        except Exception:
            logger.exception("the fact %s failed and is left out", fact.name)
            return None

    return Fact(fact.name, text)


@plugin(provides=(Contexts,))
async def contexts(ctx: Context) -> AsyncIterator[None]:
    """Tells models of what changes while they work, as plugins add it."""
    ctx.provide(Contexts, Sources(ctx))
    yield
