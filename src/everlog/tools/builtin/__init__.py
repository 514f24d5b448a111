"""The tools that ship, one to a file."""

from everlog.tools.builtin.ask_user import ask_user
from everlog.tools.builtin.bash import bash
from everlog.tools.builtin.bash_output import bash_output
from everlog.tools.builtin.bash_stop import bash_stop
from everlog.tools.builtin.edit import edit
from everlog.tools.builtin.glob import glob
from everlog.tools.builtin.grep import grep
from everlog.tools.builtin.read import read
from everlog.tools.builtin.todo_write import todo_write
from everlog.tools.builtin.web_fetch import web_fetch
from everlog.tools.builtin.write import write

BUILTIN = (ask_user, bash, bash_output, bash_stop, edit, glob, grep, read, todo_write, web_fetch, write)

__all__ = [
    "BUILTIN",
    "ask_user",
    "bash",
    "bash_output",
    "bash_stop",
    "edit",
    "glob",
    "grep",
    "read",
    "todo_write",
    "web_fetch",
    "write",
]
