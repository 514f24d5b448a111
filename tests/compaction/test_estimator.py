"""The estimator is offline and linear, and knows whose tokenizer it imitates. How far it is off: tests/peers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlog.compaction.estimator import FAMILIES, counts_of, estimate, family_of, tokens_of


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o", "o200k"),
        ("gpt-4.1-mini", "o200k"),
        ("gpt-5", "o200k"),
        ("o3", "o200k"),
        ("gpt-3.5-turbo", "cl100k"),
        ("gpt-4-turbo", "cl100k"),
        ("anthropic/claude-sonnet-4", "claude"),
        ("deepseek-chat", "deepseek"),
        ("SmolLM2-135M-Instruct", "smollm"),
        ("nobody-knows-it", "deepseek"),
        ("", "deepseek"),
    ],
)
def test_the_family_follows_from_the_models_name(model: str, family: str) -> None:
    assert family_of(model) == family


def test_every_family_has_a_weight_for_every_count() -> None:
    assert {len(weights) for weights in FAMILIES.values()} == {len(counts_of("x"))}


def test_counts_tell_what_a_text_is_made_of() -> None:
    assert counts_of("") == [0] * 10
    text = "Tokenizers, helloWorld!  HTTP 2024\n\n  文字 é\n"
    assert counts_of(text) == [3, 6, 2, 4, 2, 1, 2, 2, 2, 2]


@given(st.text(), st.text())
def test_no_text_is_refused_and_two_lines_cost_what_each_costs(a: str, b: str) -> None:
    together, apart = counts_of(f"{a}\nx\n{b}"), [x + y for x, y in zip(counts_of(a), counts_of(b), strict=True)]
    for family in FAMILIES:
        assert abs(tokens_of(together, family) - tokens_of(apart, family)) < 8


@pytest.mark.parametrize("text", ["\ud800 half", "\x00", "🙂🙂", "a" * 100_000])
def test_odd_texts_have_an_estimate_too(text: str) -> None:
    assert estimate(text) >= 1
