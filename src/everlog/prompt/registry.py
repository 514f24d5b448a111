"""The sections that plugins added, and the system prompt that they make."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

from everlog.kernel import Context, Registration, Registry, Scope, plugin
from everlog.prompt.seam import Prompt, Section
from everlog.prompt.sections import DEFAULT_SECTIONS
from everlog.session.header import Header

logger = logging.getLogger(__name__)


class Sections(Prompt):
    """Sections in a registry; `root` is where those stand that are for everybody."""

    def __init__(self, root: Scope) -> None:
        self._root = root
        self._sections = Registry[Section]("prompt sections")

    def add(self, section: Section, scope: Scope | None = None) -> Registration:
        """Add a section; see `Prompt.add`."""
        return self._sections.add(scope or self._root, section)

    def render(self, scope: Scope, header: Header) -> str:
        """Give the sections with text in their order, an empty line between two."""
        by_name = {section.name: section for section in self._sections.seen_from(scope)}
        ordered = sorted(by_name.values(), key=lambda section: (section.order, section.name))
        texts = (_text(section, header) for section in ordered)
        return "\n\n".join(text for text in texts if text)


def _text(section: Section, header: Header) -> str:
    if isinstance(section.text, str):
        return section.text.strip()
    try:
        return (section.text(header) or "").strip()
    except Exception:
        logger.exception("the prompt section %s failed and is left out", section.name)
        return ""


@plugin(provides=(Prompt,))
async def prompt(ctx: Context) -> AsyncIterator[None]:
    """Makes the system prompt, of default sections and those that plugins add."""
    sections = Sections(ctx)
    for section in DEFAULT_SECTIONS:
        sections.add(section)
    ctx.provide(Prompt, sections)
    yield
