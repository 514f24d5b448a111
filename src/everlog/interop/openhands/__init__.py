"""Sessions of OpenHands: events, in one JSON array, in lines, or in a folder with a file for each.

`read` gives a recording; `events` reads those of the SDK (they have a `kind`), `trajectory` the older ones (an
`action` or an `observation`), `parts` what both have in common.
"""

from everlog.interop.openhands.reading import is_log, read

__all__ = ["is_log", "read"]
