"""An ordinary function is a tool: what the model is told of it, and how what it sends is read."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest

from everlog.tools.declare import tool
from everlog.tools.seam import ArgumentsInvalid, ToolContext, ToolFailure

HERE = ToolContext(cwd=Path("/"))


@dataclass
class Point:
    x: int
    title: str = "none"


@tool(effects="read-only", parallel_safe=True)
def sample(
    context: ToolContext,
    where: str,
    kind: Literal["long", "short"] = "long",
    limit: int | None = None,
    points: Annotated[list[Point], msgspec.Meta(max_length=2)] = [],  # noqa: B006
) -> str:
    """Take a sample.

    It is taken with care.

    Args:
        where: The place, as a path
            relative to the workspace.
        kind: How much of it.
        limit: At most so many.
    """
    return f"{where} {kind} {limit} {len(points)} {context.cwd}"


def test_name_and_description_come_from_the_function() -> None:
    assert sample.name == "sample"
    assert sample.description == "Take a sample.\n\nIt is taken with care."


def test_the_schema_comes_from_annotations_and_docstring() -> None:
    assert sample.parameters == {
        "type": "object",
        "properties": {
            "where": {"type": "string", "description": "The place, as a path relative to the workspace."},
            "kind": {
                "type": "string",
                "enum": ["long", "short"],
                "default": "long",
                "description": "How much of it.",
            },
            "limit": {"type": "integer", "description": "At most so many."},
            "points": {
                "type": "array",
                "maxItems": 2,
                "items": {
                    "type": "object",
                    "properties": {"x": {"type": "integer"}, "title": {"type": "string", "default": "none"}},
                    "required": ["x"],
                },
                "default": [],
            },
        },
        "required": ["where"],
        "additionalProperties": False,
    }


async def test_a_call_gets_defaults_and_the_context() -> None:
    assert (await sample(HERE, where="a")).text == "a long None 0 /"
    assert (await sample(HERE, where="a", points=[{"x": 1}], limit=3)).text == "a long 3 1 /"


async def test_a_number_written_as_text_is_read_as_the_number() -> None:
    assert (await sample(HERE, where="a", limit="3")).text == "a long 3 0 /"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "`where` is missing: string, The place, as a path relative to the workspace."),
        ({"where": 3}, "`where`: Expected `str`, got `int`"),
        ({"where": "a", "wher": "b"}, "`wher` is no parameter; did you mean `where`?"),
        ({"where": "a", "zzz": "b"}, "`zzz` is no parameter; there are `where`, `kind`, `limit`, `points`"),
        ({"where": "a", "kind": "tall"}, "`kind`: Invalid enum value 'tall'"),
        ({"where": "a", "points": [{"x": "?"}]}, "`points` at `[0].x`: Expected `int`, got `str`"),
    ],
)
def test_a_refusal_names_the_parameter_and_what_it_should_be(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(ArgumentsInvalid) as refused:
        sample.check(arguments)  # type: ignore[arg-type]
    assert said in str(refused.value)
    assert refused.value.code == "INVALID_ARGUMENTS"


def test_a_refusal_names_everything_that_is_wrong_at_once() -> None:
    with pytest.raises(ArgumentsInvalid) as refused:
        sample.check({"kind": "tall", "zzz": 1})
    assert all(part in str(refused.value) for part in ("`where`", "`kind`", "`zzz`"))


def test_a_function_whose_parameters_cannot_be_told_is_refused_when_it_is_declared() -> None:
    def untyped(a) -> str:  # type: ignore[no-untyped-def]
        return "x"

    def open_ended(*a: int) -> str:
        return "x"

    def odd(a: AsyncIterator[int]) -> str:
        return "x"

    for function in (untyped, open_ended, odd):
        with pytest.raises(TypeError):
            tool(function)


async def test_what_a_tool_returns_becomes_text_or_a_clear_refusal() -> None:
    @tool
    async def echo(value: str) -> object:
        """Echo."""
        return VALUES[value]

    VALUES: dict[str, object] = {
        "json": {"a": [1, None]},
        "nan": {"a": [float("nan")]},
        "set": {"a": {1}},
        "none": None,
    }
    assert (await echo(HERE, value="json")).text == '{"a":[1,null]}'
    assert (await echo(HERE, value="none")).text == "Done."
    for name, place in (("nan", "$.a[0]"), ("set", "$.a")):
        with pytest.raises(ToolFailure, match="not JSON") as refused:
            await echo(HERE, value=name)
        assert place in str(refused.value)
        assert refused.value.code == "TOOL_RESULT_INVALID"
