"""The adapters that are installed, to derive bodies with; what the configuration says of endpoints does not matter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from everlog.kernel import Config, Kernel, discover
from everlog.llm.seam import Models
from everlog.llm.wire import EncoderOf


@asynccontextmanager
async def encoders() -> AsyncIterator[EncoderOf]:
    """Give encoders by the name that a log records."""
    config = Config()
    found = discover(config)
    async with Kernel(found.plugins, config, found.absent) as kernel:
        yield kernel[Models].encoder
