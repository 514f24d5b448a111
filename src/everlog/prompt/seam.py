"""The seam of prompts: the system prompt is made of named sections, and context of messages, that plugins add.

The rendered text becomes a message of the session and is compared with the one before: when it changes, the
conversation's prefix does, and a provider's cache is lost. A section therefore says what stays the same for the
whole session. What changes with time (the date, the state of the repository) is context, not prompt.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from everlog.kernel import Registration, Scope
from everlog.session.header import Header
from everlog.session.log import Log
from everlog.session.messages import Message

SectionText: TypeAlias = Callable[[Header], str | None]
"""Gives the text of a section for the session with this header, or None to leave it out. Pure and quick."""


ContextSource: TypeAlias = Callable[[Log], Sequence[Message]]
"""Gives the user-role messages that a session's next step is to enter before its input; usually none.

It compares the world with what the log tells, and gives what is new. Quick, and changes nothing.
"""


@dataclass(frozen=True)
class Fact:
    """Something that is so while a session runs, and may change.

    Attributes:
        name: what it is about, in a word; of two with one name, the one further in counts, then the later one.
        text: what is so now, of a session as seen from its agent's scope; None when there is nothing to say, and
            then what was said before stands. Quick, changes nothing, and equal for as long as nothing changed.
    """

    name: str
    text: Callable[[Log, Scope], str | None]


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


class Contexts(ABC):
    """The service: collects what changes with time, and is told to a model when it does."""

    @abstractmethod
    def add(self, source: ContextSource, scope: Scope | None = None) -> Registration:
        """Add a source where `scope` stands and below, until it ends; without one, everywhere.

        Raises ScopeClosed.
        """

    @abstractmethod
    def add_fact(self, fact: Fact, scope: Scope | None = None) -> Registration:
        """Have a fact told when it is new, when it changed, and when the model no longer sees it; as `add` otherwise.

        Facts that are due together are told in one message.
        """

    @abstractmethod
    def due(self, scope: Scope, log: Log) -> list[Message]:
        """Give what the sources seen from a scope have for the next step of a session, in their order; then the facts.

        A source or a fact that raises is logged and left out.
        """
