"""The log and its projections: events, `append` and its rules, the surface, folds, repair, forks.

No I/O, no asyncio, no knowledge of models, tools or disks. Imports no room but `kernel`.
"""

from typing import TYPE_CHECKING

from everlog.lazily import lazily

if TYPE_CHECKING:
    from everlog.session.errors import (
        AppendRefused,
        ForkRefused,
        FormatUnsupported,
        RuleViolation,
        SessionCorrupt,
    )
    from everlog.session.event import Event, Replace, read_event
    from everlog.session.header import Header, SessionId, new_header, read_header
    from everlog.session.live import Session
    from everlog.session.log import Log
    from everlog.session.messagelist import Messages
    from everlog.session.messages import Message
    from everlog.session.projection import Projection
    from everlog.session.recording import Recording
    from everlog.session.rule import Rule
    from everlog.session.vocabulary import CORE, EventType, Vocabulary

_HOME = {
    "AppendRefused": "errors",
    "CORE": "vocabulary",
    "Event": "event",
    "EventType": "vocabulary",
    "ForkRefused": "errors",
    "FormatUnsupported": "errors",
    "Header": "header",
    "Log": "log",
    "Message": "messages",
    "Messages": "messagelist",
    "Projection": "projection",
    "Recording": "recording",
    "Replace": "event",
    "Rule": "rule",
    "RuleViolation": "errors",
    "Session": "live",
    "SessionCorrupt": "errors",
    "SessionId": "header",
    "Vocabulary": "vocabulary",
    "new_header": "header",
    "read_event": "event",
    "read_header": "header",
}

__all__ = [
    "CORE",
    "AppendRefused",
    "Event",
    "EventType",
    "ForkRefused",
    "FormatUnsupported",
    "Header",
    "Log",
    "Message",
    "Messages",
    "Projection",
    "Recording",
    "Replace",
    "Rule",
    "RuleViolation",
    "Session",
    "SessionCorrupt",
    "SessionId",
    "Vocabulary",
    "new_header",
    "read_event",
    "read_header",
]

if not TYPE_CHECKING:  # a type checker shall refuse a name that is not listed above
    __getattr__ = lazily(__name__, _HOME)
