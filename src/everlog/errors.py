"""The base of every error that Everlog raises on purpose.

The classes themselves live in the room that they belong to. This module stands below all rooms.
"""


class EverlogError(Exception):
    """Something that a person or a program can act on.

    A subclass keeps its facts as attributes. `str(error)` is one line that says what happened, where, and
    what to do next: faces print it as it is, without a traceback.
    """
