"""Plugins, services by type, typed hooks, scopes, discovery and configuration.

Knows nothing of agents, sessions or models, and imports no other room. `docs/plugins.md` is its guide.
"""

from typing import TYPE_CHECKING

from everlog.lazily import lazily

if TYPE_CHECKING:
    from everlog.kernel.config import Config
    from everlog.kernel.context import Context
    from everlog.kernel.discovery import Discovery, discover, discover_added, survey
    from everlog.kernel.errors import (
        ConfigError,
        PluginInvalid,
        ScopeClosed,
        ServiceConflict,
        ServiceMissing,
    )
    from everlog.kernel.hooks import Emit, Parallel, Serial, Waterfall
    from everlog.kernel.kernel import Kernel
    from everlog.kernel.life import Status
    from everlog.kernel.plugins import Plugin, plugin
    from everlog.kernel.scope import Registration, Registry, Scope
    from everlog.kernel.states import PluginState

_HOME = {
    "Config": "config",
    "ConfigError": "errors",
    "Context": "context",
    "Discovery": "discovery",
    "Emit": "hooks",
    "Kernel": "kernel",
    "Parallel": "hooks",
    "Plugin": "plugins",
    "PluginInvalid": "errors",
    "PluginState": "states",
    "Registration": "scope",
    "Registry": "scope",
    "Scope": "scope",
    "ScopeClosed": "errors",
    "Serial": "hooks",
    "ServiceConflict": "errors",
    "ServiceMissing": "errors",
    "Status": "life",
    "Waterfall": "hooks",
    "discover": "discovery",
    "discover_added": "discovery",
    "plugin": "plugins",
    "survey": "discovery",
}

__all__ = [
    "Config",
    "ConfigError",
    "Context",
    "Discovery",
    "Emit",
    "Kernel",
    "Parallel",
    "Plugin",
    "PluginInvalid",
    "PluginState",
    "Registration",
    "Registry",
    "Scope",
    "ScopeClosed",
    "Serial",
    "ServiceConflict",
    "ServiceMissing",
    "Status",
    "Waterfall",
    "discover",
    "discover_added",
    "plugin",
    "survey",
]

if not TYPE_CHECKING:  # a type checker shall refuse a name that is not listed above
    __getattr__ = lazily(__name__, _HOME)
