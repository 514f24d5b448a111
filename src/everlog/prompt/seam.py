"""The seam of prompts: the system prompt is made of named sections that plugins add.

The rendered text becomes a message of the session and is compared with the one before: when it changes, the
conversation's prefix does, and a provider's cache is lost. A section therefore says what stays the same for the
whole session. What changes with time (the date, the state of the repository) is context, not prompt.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from everlog.kernel import Registration, Scope
from everlog.session.header import Header

SectionText: TypeAlias = Callable[[Header], str | None]
"""Gives the text of a section for the session with this header, or None to leave it out. Pure and quick."""


@dataclass(frozen=True)
class Section:
    """One part of the system prompt.

    Attributes:
        name: what it is known by; of two with one name, the one further in counts, then the later one.
        text: its text, or what gives it.
        order: its position; sections with a lower one come first, equal ones in the order of their names.
    """

    name: str
    text: str | SectionText
    order: int = 0


class Prompt(ABC):
    """The service: collects sections, and renders them."""

    @abstractmethod
    def add(self, section: Section, scope: Scope | None = None) -> Registration:
        """Add a section where `scope` stands and below, until it ends; without one, everywhere.

        Raises ScopeClosed.
        """

    @abstractmethod
    def render(self, scope: Scope, header: Header) -> str:
        """Give the system prompt for a session, as seen from its agent's scope; empty when no section has text.

        Equal sections and headers give equal text. A section that raises is logged and left out.
        """
