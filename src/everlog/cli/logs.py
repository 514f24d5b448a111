"""Where log records go while a command runs."""

from __future__ import annotations

import logging

from everlog.cli.options import wants_details


def set_up_logs() -> None:
    """Keep log records off the terminal, where the face tells what a person needs to know; `--debug` shows them."""
    if wants_details():
        logging.basicConfig(level=logging.INFO)
    else:
        logging.getLogger().addHandler(logging.NullHandler())
