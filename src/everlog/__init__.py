"""Everlog: an agent harness whose one source of truth is an append-only, typed event log.

The names below are the public face. Each is imported from its room when it is first asked for (PEP 562), so
that `import everlog` costs nothing that is not used. A new name goes into three places that
`tests/test_exported_members.py` keeps equal: the block for type checkers, `_HOME`, and `__all__`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everlog.errors import EverlogError
    from everlog.harness import Harness
    from everlog.session import (
        CORE,
        AppendRefused,
        Event,
        EventType,
        ForkRefused,
        FormatUnsupported,
        Header,
        Message,
        Recording,
        Replace,
        RuleViolation,
        Session,
        SessionCorrupt,
        Vocabulary,
    )
    from everlog.session.jsonvalue import to_json
    from everlog.store import (
        DurableSession,
        LeaseLost,
        SessionBusy,
        SessionNotFound,
        Store,
        StoreError,
        WriteFailed,
        open_store,
    )

__version__ = "0.1.0"

_HOME: dict[str, str] = {
    "EverlogError": "everlog.errors",
    "Harness": "everlog.harness",
    "CORE": "everlog.session",
    "AppendRefused": "everlog.session",
    "Event": "everlog.session",
    "EventType": "everlog.session",
    "ForkRefused": "everlog.session",
    "FormatUnsupported": "everlog.session",
    "Header": "everlog.session",
    "Message": "everlog.session",
    "Recording": "everlog.session",
    "Replace": "everlog.session",
    "RuleViolation": "everlog.session",
    "Session": "everlog.session",
    "SessionCorrupt": "everlog.session",
    "Vocabulary": "everlog.session",
    "to_json": "everlog.session.jsonvalue",
    "DurableSession": "everlog.store",
    "LeaseLost": "everlog.store",
    "SessionBusy": "everlog.store",
    "SessionNotFound": "everlog.store",
    "Store": "everlog.store",
    "StoreError": "everlog.store",
    "WriteFailed": "everlog.store",
    "open_store": "everlog.store",
}
"""Public name -> module that defines it."""

__all__ = [
    "CORE",
    "AppendRefused",
    "DurableSession",
    "Event",
    "EventType",
    "EverlogError",
    "ForkRefused",
    "FormatUnsupported",
    "Harness",
    "Header",
    "LeaseLost",
    "Message",
    "Recording",
    "Replace",
    "RuleViolation",
    "Session",
    "SessionBusy",
    "SessionCorrupt",
    "SessionNotFound",
    "Store",
    "StoreError",
    "Vocabulary",
    "WriteFailed",
    "open_store",
    "to_json",
]


if not TYPE_CHECKING:  # a type checker shall refuse a name that is not listed above

    def __getattr__(name: str) -> object:
        try:
            home = _HOME[name]
        except KeyError:
            # A room (`everlog.session`) is reachable as an attribute without an import of its own.
            try:
                return import_module(f"{__name__}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{__name__}.{name}":
                    raise
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
        value = getattr(import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
