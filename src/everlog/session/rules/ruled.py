"""The ledger of a log whose vocabulary holds rules of plugins; any other log has the plain `Ledger`."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw

from everlog.session.errors import RuleViolation
from everlog.session.event import Event
from everlog.session.jsonvalue import NotJSON, encode
from everlog.session.rule import Rule
from everlog.session.rules.ledger import Ledger, ReadEvent
from everlog.session.surface import Surface
from everlog.session.vocabulary import Vocabulary

_log = logging.getLogger("everlog.session")


def new_ledger(vocabulary: Vocabulary) -> Ledger:
    """Give the ledger of an empty log."""
    if not vocabulary.rules:
        return Ledger()
    ledger = RuledLedger()
    ledger.held = [Held(rule, rule.init()) for rule in vocabulary.rules.values()]
    ledger.arrange()
    return ledger


def read_ledger(data: bytes, vocabulary: Vocabulary) -> Ledger:
    """Give the ledger that `to_bytes` wrote.

    Raises:
        ValueError: the bytes hold no state of a rule of the vocabulary, or one of another version of the rule.
    """
    if not vocabulary.rules:
        return Ledger.from_bytes(data)
    core, states = Ledger.from_bytes(data), _decode(data).rules
    ledger = RuledLedger(*(getattr(core, name) for name in _CORE_FIELDS))
    for rule in vocabulary.rules.values():
        kept = states.get(rule.name)
        if kept is None or kept.version != rule.version:
            raise ValueError(f"the rule {rule.name} has no state here")
        ledger.held.append(Held(rule, msgspec.json.decode(kept.state), kept.failure))
    ledger.arrange()
    return ledger


@dataclass(slots=True)
class Held:
    """A rule with its state in one log.

    Attributes:
        rule: the rule.
        state: its state, which the rule itself changes.
        failure: why its state cannot be relied on any more, or None.
    """

    rule: Rule[Any]
    state: Any
    failure: str | None = None

    def expected(self, event: Event) -> str | None:
        """Ask the rule about an event; when it fails, what it expects is not known, and the event may not stand."""
        if self.failure is None:
            try:
                return self.rule.check(self.state, event)
            except Exception as error:
                return _unanswered(_named(error))
        return _unanswered(self.failure)

    def apply(self, event: Event) -> None:
        """Have the rule take an event in."""
        if self.failure is not None:
            return
        try:
            self.rule.apply(self.state, event)
        except Exception as error:
            _log.exception("the rule %s failed to take in event %d", self.rule.name, event.seq)
            self.failure = f"{_named(error)}, at seq {event.seq}"

    def kept(self) -> Kept:
        """Give the state as it is saved; one that is not JSON makes the rule a failed one."""
        try:
            state = encode(self.state)
        except NotJSON as error:
            _log.error("the rule %s has a state that is not JSON: %s", self.rule.name, error)
            state, self.failure = b"null", f"its state is not JSON: {error}"
        return Kept(self.rule.version, Raw(state), self.failure)


@dataclass(slots=True)
class RuledLedger(Ledger):
    """The states of the core's rules, and of those that plugins brought."""

    held: list[Held] = field(default_factory=list)
    by_type: dict[str, list[Held]] = field(default_factory=dict)

    def arrange(self) -> None:
        """Find the rules by the types that they see."""
        for held in self.held:
            for name in dict.fromkeys(held.rule.sees):
                self.by_type.setdefault(name, []).append(held)

    @property
    def has_failed(self) -> bool:
        """Tell whether a rule failed, so that a fold from the start may know more."""
        return any(held.failure is not None for held in self.held)

    def to_bytes(self) -> bytes:
        """Give the state as JSON bytes: those of the core's ledger, which that one reads too, and `rules`."""
        core = _encode({name: getattr(self, name) for name in _CORE_FIELDS})
        rules = _encode({held.rule.name: held.kept() for held in self.held})
        return core[:-1] + b',"rules":' + rules + b"}"

    def violations(self, event: Event, data: Any, surface: Surface, read: ReadEvent) -> list[RuleViolation]:
        """Give what the event breaks; plugins' rules are asked about what the core's accept."""
        found = Ledger.violations(self, event, data, surface, read)
        if found:
            return found
        asked = ((held.rule.name, held.expected(event)) for held in self.by_type.get(event.type, ()))
        return [
            RuleViolation(event.seq, event.type, name, expected) for name, expected in asked if expected is not None
        ]

    def apply(self, event: Event, data: Any, generation: int) -> None:
        """Take an event in."""
        Ledger.apply(self, event, data, generation)
        for held in self.by_type.get(event.type, ()):
            held.apply(event)


class Kept(msgspec.Struct, array_like=True):
    version: int
    state: Raw
    failure: str | None = None


class _Rules(msgspec.Struct):
    rules: dict[str, Kept] = msgspec.field(default_factory=dict)


_CORE_FIELDS = tuple(Ledger.__dataclass_fields__)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Rules).decode


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _unanswered(why: str) -> str:
    return f"an answer of the rule, which failed ({why}); mend its plugin, or disable it"
