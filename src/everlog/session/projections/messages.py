"""What the model sees."""

from __future__ import annotations

from everlog.session.log import Log
from everlog.session.messagelist import Messages, message_of
from everlog.session.projections.surface import SurfaceProjection, SurfaceState, surface_of


class MessagesProjection(SurfaceProjection):
    """The messages of the surface, in order."""

    name = "messages"

    def view(self, state: SurfaceState, log: Log) -> Messages:
        """Give the messages of the folded surface."""
        events = log.events.pick(surface_of(state).nodes)
        return Messages([message for event in events if (message := message_of(event)) is not None])


PROJECTION = MessagesProjection()
