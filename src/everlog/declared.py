"""The vocabulary of an installation: the core's, with what the plugins declare that are found."""

from __future__ import annotations

from collections.abc import Iterable

from everlog.kernel import Config, Discovery, Plugin, discover_added
from everlog.kernel.states import reason_of
from everlog.session import CORE, EventType, Projection, Rule, Vocabulary


def with_vocabulary(found: Discovery) -> tuple[Discovery, Vocabulary]:
    """Give what plugins declare, put together, and the plugins themselves.

    One whose declarations are wrong, or clash with those of an earlier one, is not loaded: it is listed as failed,
    and hides no other.
    """
    while True:
        try:
            return found, _put_together(found.plugins)
        except _Wrong as wrong:
            found = found.without(wrong.plugin, f"what it declares is refused: {wrong.reason}")


def vocabulary_for_looking(config: Config) -> Vocabulary:
    """Give the vocabulary to open stored sessions with; of the plugins, only those of others are imported for it."""
    return with_vocabulary(discover_added(config))[1]


class _Wrong(Exception):
    """A plugin whose declarations cannot be taken in."""

    def __init__(self, plugin: Plugin, reason: str) -> None:
        super().__init__(reason)
        self.plugin = plugin
        self.reason = reason


def _put_together(plugins: Iterable[Plugin]) -> Vocabulary:
    """Give the whole vocabulary; all types come first, so that a rule may see those of a plugin that is found later."""
    known = CORE
    declaring = [plugin for plugin in plugins if plugin.declares]
    for take_in in (_types, _rules, _projections):
        for plugin in declaring:
            try:
                known = take_in(known, plugin)
            except Exception as error:  # code of a plugin runs here: nothing is known of what it raises
                raise _Wrong(plugin, reason_of(error)) from error
    return known


def _types(known: Vocabulary, plugin: Plugin) -> Vocabulary:
    for value in plugin.declares:
        if isinstance(value, type) or not isinstance(value, EventType | Rule | Projection):
            raise ValueError(f"{value!r} is neither an EventType, nor an object that is a Rule or a Projection")
    return known.with_types(*(value for value in plugin.declares if isinstance(value, EventType)))


def _rules(known: Vocabulary, plugin: Plugin) -> Vocabulary:
    return known.with_rules(*(value for value in plugin.declares if isinstance(value, Rule)))


def _projections(known: Vocabulary, plugin: Plugin) -> Vocabulary:
    return known.with_projections(*(value for value in plugin.declares if isinstance(value, Projection)))
