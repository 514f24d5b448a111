"""How far estimates are off, against a real tokenizer on real texts. The figures are in docs/compaction.md."""

import pytest
from tests.compaction.tokenizing import measure, tokenizer_at
from tests.peers.llamacpp import LlamaCpp

from everlog.compaction.estimator import STATED_ERROR

pytestmark = pytest.mark.slow


def test_an_estimate_is_off_by_no_more_than_is_stated(llamacpp: LlamaCpp) -> None:
    found = measure(tokenizer_at(llamacpp.url), "smollm")
    llamacpp.reset()
    assert {kind for kind, errors in found.items() if errors.chunks >= 5} >= {"English", "Chinese", "code", "JSON"}
    for kind, errors in found.items():
        assert errors.mean < STATED_ERROR, kind
        assert abs(errors.whole) < STATED_ERROR, kind
        assert errors.p95 < 1.5 * STATED_ERROR, kind
