"""Where nothing is async, a conversation is a harness with one agent."""

import pytest

from everlog.llm.script import scripted
from everlog.sync import Conversation


@pytest.mark.filterwarnings("error")
async def test_where_an_event_loop_runs_it_says_what_to_use_instead() -> None:
    conversation = Conversation("script/demo", store="memory:", plugins=[scripted({"demo": ["Hello."]})])
    with pytest.raises(RuntimeError, match="async with Harness"):
        conversation.__enter__()
