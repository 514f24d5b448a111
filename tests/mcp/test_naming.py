"""Every provider takes the names and schemas of a server's tools, and no two tools have one name."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from everlog.mcp.naming import parameters, tool_name
from everlog.session.jsonvalue import encode

WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=80)
TRICKY = st.text("a_.-", min_size=1, max_size=6)
PAIRS = st.tuples(WORDS | TRICKY, WORDS | TRICKY)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
KEYS = st.sampled_from(["type", "properties", "required", "anyOf", "oneOf", "allOf", "enum", "$ref", "$defs", "title"])


def test_an_ordinary_name_is_kept() -> None:
    assert tool_name("time", "get_current_time") == "mcp__time__get_current_time"


@given(PAIRS)
def test_every_name_is_legal(pair: tuple[str, str]) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tool_name(*pair))


@given(PAIRS, PAIRS)
def test_two_tools_have_two_names(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (tool_name(*one) == tool_name(*other)) is (one == other)


def test_an_underscore_belongs_to_one_part_only() -> None:
    pairs = [("a", "b__c"), ("a__b", "c"), ("a_", "b"), ("a", "_b"), ("a", "b_"), ("a.b", "c"), ("a_b", "c")]
    assert len({tool_name(*pair) for pair in pairs}) == len(pairs)


@given(JSON | st.dictionaries(KEYS, JSON, max_size=6))
def test_every_schema_becomes_one_of_an_object(schema: object) -> None:
    made, words = parameters(schema)  # type: ignore[arg-type]
    assert made["type"] == "object"
    assert isinstance(made["properties"], dict)
    assert {"anyOf", "oneOf", "allOf", "enum", "not", "$ref"}.isdisjoint(made)
    assert all(isinstance(name, str) for name in made.get("required", []))  # type: ignore[union-attr]
    assert encode([made, words])


def test_a_sound_schema_is_kept_as_it_is() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert parameters(schema) == (schema, "")  # type: ignore[arg-type]


def test_alternatives_at_the_top_are_told_in_words() -> None:
    made, words = parameters({"anyOf": [{"required": ["a"]}], "properties": {"a": {"type": "string"}}})
    assert made == {"type": "object", "properties": {"a": {"type": "string"}}}
    assert '{"anyOf":[{"required":["a"]}]}' in words
