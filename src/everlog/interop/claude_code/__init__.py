"""Sessions of Claude Code: JSON lines whose records name their parents, so that a file is a tree of conversations.

`read` gives a recording of the conversation that the file ends in; `path` finds it, `blocks` turns content into ours.
"""

from everlog.interop.claude_code.reading import is_log, read

__all__ = ["is_log", "read"]
