"""Read by mypy, never run: the public face keeps its types."""

from typing import assert_type

import everlog

assert_type(everlog.__version__, str)
