"""Sessions of the Codex command line: JSON lines of what was sent to a model and came back, and of events beside.

`read` gives a recording of a file; `items` turns what went to and fro into our blocks.
"""

from everlog.interop.codex.reading import is_log, read

__all__ = ["is_log", "read"]
