"""The `[permissions]` table of the configuration."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from everlog.kernel import Config, ConfigError
from everlog.tools.permissions.modes import Mode, stricter
from everlog.tools.permissions.rules import Rule, RuleInvalid

TABLE = "permissions"


class PermissionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the table may say.

    Attributes:
        mode: what holds where no rule speaks.
        allow: rules whose calls run unasked.
        ask: rules whose calls are always asked about.
        deny: rules whose calls are refused.
        keep_env: secret variables that commands get all the same.
    """

    mode: Mode = "ask"
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    keep_env: tuple[str, ...] = ()


@dataclass(frozen=True)
class RuleSet:
    """The rules and the mode in force, before what a session learned."""

    mode: Mode
    allow: tuple[Rule, ...]
    ask: tuple[Rule, ...]
    deny: tuple[Rule, ...]
    keep_env: frozenset[str]


def rules_from(config: Config) -> RuleSet:
    """Read the rules: all that the user's own files say, and of a project's file only what is stricter.

    Raises ConfigError.
    """
    own, brought = (part.section(PermissionSettings, TABLE) for part in (config.own, config.brought))
    says_mode = config.brought.origin(TABLE, "mode") is not None
    return RuleSet(
        mode=stricter(own.mode, brought.mode) if says_mode else own.mode,
        allow=_rules(config.own, "allow", own.allow),
        ask=_rules(config.own, "ask", own.ask) + _rules(config.brought, "ask", brought.ask),
        deny=_rules(config.own, "deny", own.deny) + _rules(config.brought, "deny", brought.deny),
        keep_env=frozenset(own.keep_env),
    )


def _rules(config: Config, key: str, texts: tuple[str, ...]) -> tuple[Rule, ...]:
    try:
        return tuple(map(Rule.parse, texts))
    except RuleInvalid as error:
        raise ConfigError(config.origin(TABLE, key), None, f"{TABLE}.{key}: {error}") from None
