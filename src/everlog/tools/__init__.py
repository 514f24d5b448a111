"""Tools: the seam that a tool fills, schemas made from signatures, the way of a call, and the tools that ship.

Imports `kernel`, `session` and `store`, and of the other capabilities their `seam` only.
"""

from everlog.tools.declare import tool
from everlog.tools.seam import Tool, ToolContext, ToolFailure, ToolOutput, Tools

__all__ = ["Tool", "ToolContext", "ToolFailure", "ToolOutput", "Tools", "tool"]
