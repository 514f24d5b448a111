"""The policy: rules first, then the mode; and the mode of each agent."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from everlog.kernel import Registration, Registry, Scope
from everlog.session.log import Log
from everlog.tools.hooks import Allow, Ask, Decision, Deny, ToolUse
from everlog.tools.permissions.modes import Mode, by_mode
from everlog.tools.permissions.rules import Rule, RuleInvalid
from everlog.tools.permissions.settings import RuleSet
from everlog.tools.permissions.workspace import Place, places_of

_log = logging.getLogger("everlog.tools")


class Permissions:
    """The service: which mode holds where, and what is decided of a call."""

    def __init__(self, rules: RuleSet, scope: Scope) -> None:
        self._rules = rules
        self._scope = scope
        self._kept: list[Rule] = []
        self._modes = Registry[Mode]("permission modes")

    def use_mode(self, mode: Mode, scope: Scope | None = None) -> Registration:
        """Have a mode hold where `scope` stands and below, until it ends; without one, everywhere."""
        return self._modes.add(scope or self._scope, mode)

    def mode(self, scope: Scope | None = None) -> Mode:
        """Give the mode that holds for a scope: the one set innermost and last, else the configuration's."""
        return [self._rules.mode, *self._modes.seen_from(scope or self._scope)][-1]

    async def decide(self, use: ToolUse) -> Decision:
        """Decide on a call: rules that refuse, rules that ask, rules that permit, then the mode."""
        places = places_of(use)
        paths = [place.subject for place in places]
        subjects = [use.subject] if use.tool.subject is not None else paths or [""]
        caught = {*subjects, *paths}
        if (rule := _catching(self._rules.deny, use, caught)) is not None:
            return Deny(f"the rule {rule} refuses it")
        if (rule := _catching(self._rules.ask, use, caught)) is not None:
            return Ask(f"the rule {rule} asks for consent")
        # Where rules match a command or an address, they say nothing of a path beside it that leads out.
        unspoken = use.tool.subject is not None and not all(place.inside for place in places)
        if not unspoken and self._permitted(use, subjects, _guarded(use, places)):
            return Allow()
        return by_mode(use, places, self.mode(use.context.scope))

    def remember(self, text: str) -> None:
        """Add a rule that permits, for as long as this service lives. Raises RuleInvalid."""
        self._kept.append(Rule.parse(text))

    def _permitted(self, use: ToolUse, subjects: list[str], guarded: frozenset[str]) -> bool:
        rules = [*self._rules.allow, *self._kept, *learned(use.context.session)]
        return all(
            any(_permits(rule, use, subject) for rule in rules if subject not in guarded or ".git" in rule.pattern)
            for subject in subjects
        )


def _guarded(use: ToolUse, places: list[Place]) -> frozenset[str]:
    """Give the paths that only a rule which names `.git` permits: what is written there can make Git run commands."""
    if use.tool.effects == "read-only":
        return frozenset()
    return frozenset(place.subject for place in places if place.guarded)


def _catching(rules: tuple[Rule, ...], use: ToolUse, subjects: Iterable[str]) -> Rule | None:
    name = use.tool.name
    return next((rule for rule in rules for subject in subjects if rule.catches(name, subject)), None)


def _permits(rule: Rule, use: ToolUse, subject: str) -> bool:
    if use.tool.subject == "command":
        return rule.permits_command(use.tool.name, subject)
    return rule.permits(use.tool.name, subject)


def learned(log: Log | None) -> list[Rule]:
    """Give the rules that "always" added to a session; a fork begins with none."""
    if log is None:
        return []
    found: list[Rule] = []
    for rule in log.project("approvals").standing:
        text = rule.get("rule") if isinstance(rule, dict) else None
        if not isinstance(text, str):
            continue
        try:
            found.append(Rule.parse(text))
        except RuleInvalid:
            _log.warning("session %s holds a standing rule that cannot be read: %r", log.id, text)
    return found
