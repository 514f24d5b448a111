"""What the model sees is told part by part, with what each part stands for, as of any seq."""

from hypothesis import given, settings
from tests.compaction.test_plan import LONG, meter, step_with_calls
from tests.session.logs import foreign_logs, stories
from tests.session.stories import Story, plain_turn

from everlog.compaction.composition import Composition
from everlog.session import Log


def compacted() -> tuple[Story, list[int]]:
    """Two compactions, one over the other, and a pruned result."""
    story = Story()
    story.turn(), story.step(), story.system("be brief"), story.header(), story.context(10_000), story.end_step()
    story.end_turn()
    for number in range(4):
        plain_turn(story, f"question {number}", "answer")
    originals = list(story.session.surface.nodes)
    story.compact(originals[1], originals[4], id="first")
    nodes = story.session.surface.nodes
    story.compact(nodes[1], nodes[3], id="second")
    story.turn()
    step_with_calls(story, "c", output=LONG)
    story.step()
    story.prune(story.session.surface.nodes[-1])
    return story, originals


def test_each_part_tells_what_it_is_and_what_it_stands_for() -> None:
    story, originals = compacted()
    found = Composition(story.session)
    assert [part.kind for part in found.parts] == ["system", "summaries", "messages", "answers", "answers", "results"]
    summary = found.parts[1]
    assert summary.originals == 6
    behind = found.behind(summary.seq)
    assert [part.kind for part in behind] == ["summaries", "messages", "answers"]
    assert [part.seq for part in found.behind(behind[0].seq)] == originals[1:5]
    assert found.behind(originals[1]) == []
    result = found.parts[-1]
    assert (result.originals, len(result.stands_for)) == (1, 1)
    assert found.behind(result.seq)[0].tokens > 10 * result.tokens


def test_as_of_an_earlier_seq_nothing_was_shortened_yet() -> None:
    story, originals = compacted()
    at = next(event.seq for event in story.session.events if event.type == "compaction/start") - 1
    found = Composition(story.session, at)
    assert [part.seq for part in found.parts] == originals
    assert all(not part.stands_for for part in found.parts)
    assert found.model == "p/m"
    assert found.window == 10_000


@given(log=stories().map(lambda story: story.session) | foreign_logs())
@settings(max_examples=80, deadline=None)
def test_any_log_has_a_composition_whose_kinds_add_up(log: Log) -> None:
    found = Composition(log)
    assert [part.seq for part in found.parts] == list(log.surface.nodes)
    total = sum(found.by_kind().values())
    assert abs(total - found.total) <= 7 or not any(part.tokens for part in found.parts)
    assert sum(part.originals for part in found.parts) >= len(found.parts)
    for part in found.parts:
        assert [each.seq for each in found.behind(part.seq)] == list(part.stands_for)
    assert found.total == meter(log).total  # type: ignore[arg-type]
