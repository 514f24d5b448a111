"""The system prompt is made of named sections, and stays the same for as long as they do."""

from collections.abc import AsyncIterator

import pytest

from everlog.kernel import Context, Kernel, plugin
from everlog.prompt.registry import prompt
from everlog.prompt.seam import Prompt, Section
from everlog.session.header import Header, new_header

HEADER = new_header(cwd="/workspace")


@pytest.fixture
async def kernel() -> AsyncIterator[Kernel]:
    async with Kernel([prompt]) as kernel:
        yield kernel


async def test_the_default_prompt_tells_nothing_that_may_change(kernel: Kernel) -> None:
    text = kernel[Prompt].render(kernel.root, HEADER)
    assert "coding agent" in text
    assert text == kernel[Prompt].render(kernel.root, new_header(cwd="/elsewhere"))


async def test_sections_stand_by_order_and_then_by_name(kernel: Kernel) -> None:
    for name, order in (("z", 40), ("b", 41), ("a", 41)):
        kernel[Prompt].add(Section(name, f"<{name}>", order))
    assert kernel[Prompt].render(kernel.root, HEADER).endswith("<z>\n\n<a>\n\n<b>")


async def test_a_section_of_an_agent_hides_the_one_of_the_same_name_for_that_agent_only(kernel: Kernel) -> None:
    async with kernel.root.child("agent") as agent:
        kernel[Prompt].add(Section("role", "You write poems."), agent)
        assert kernel[Prompt].render(agent, HEADER).startswith("You write poems.")
        assert "coding agent" not in kernel[Prompt].render(agent, HEADER)
        assert "coding agent" in kernel[Prompt].render(kernel.root, HEADER)


async def test_a_plugins_section_goes_with_the_plugin(kernel: Kernel) -> None:
    @plugin(requires=(Prompt,))
    async def manners(ctx: Context) -> AsyncIterator[None]:
        """Adds a section."""
        ctx[Prompt].add(Section("manners", "Be polite."), ctx)
        yield

    await kernel.load(manners)
    assert "Be polite." in kernel[Prompt].render(kernel.root, HEADER)
    await kernel.unload("manners")
    assert "Be polite." not in kernel[Prompt].render(kernel.root, HEADER)


async def test_a_section_that_fails_is_left_out(kernel: Kernel) -> None:
    def broken(header: Header) -> str:
        raise RuntimeError("no text today")

    before = kernel[Prompt].render(kernel.root, HEADER)
    kernel[Prompt].add(Section("broken", broken, 99))
    assert kernel[Prompt].render(kernel.root, HEADER) == before
