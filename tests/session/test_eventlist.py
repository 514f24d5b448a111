"""Lists of events that share what they have in common stay apart in everything else."""

from collections.abc import Iterable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from everlog.session.event import Event
from everlog.session.eventlist import EventList


def event(seq: int, owner: int = -1) -> Event:
    return Event(seq, "x/y", owner, b"{}")


class Stored:
    """A source of events that were stored; which list they came from does not matter there."""

    def read(self, start: int, stop: int) -> Iterator[Event]:
        return map(event, range(start, stop))

    def pick(self, seqs: Iterable[int]) -> Iterator[Event]:
        return map(event, seqs)


def add(events: EventList, added: Event) -> None:
    events.held.append(added)
    events.end += 1


STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 9), st.integers(0, 30)), max_size=60)
SLICES = st.builds(slice, *[st.none() | st.integers(-40, 40)] * 2, st.none() | st.sampled_from([1, 2, -1, -3]))


@given(stored=st.integers(0, 5), steps=STEPS, cut=SLICES, seqs=st.lists(st.integers(0, 60)))
def test_a_family_of_lists_is_what_a_family_of_copies_is(
    stored: int, steps: list[tuple[bool, int, int]], cut: slice, seqs: list[int]
) -> None:
    lists, copies = [EventList([], Stored(), stored)], [list(map(event, range(stored)))]
    for is_fork, which, count in steps:
        which %= len(lists)
        if is_fork:
            count = min(count, len(copies[which]))
            lists.append(lists[which].prefix(count))
            copies.append(copies[which][:count])
        else:
            for _ in range(count % 4):
                added = event(len(copies[which]), which)
                add(lists[which], added)
                copies[which].append(added)
    for events, copy in zip(lists, copies, strict=True):
        inside = [seq for seq in seqs if seq < len(copy)]
        assert list(events) == copy
        assert events[cut] == copy[cut]
        assert [events[seq] for seq in inside] == [copy[seq] for seq in inside]
        assert list(events.pick(inside)) == [copy[seq] for seq in inside]
        assert [event.time for event in events] == [event.time for event in copy]
        assert list(events.between(2, len(copy) - 1)) == copy[2 : len(copy) - 1]


def test_who_reads_while_a_fork_is_taken_and_the_list_goes_on_reads_what_was_asked_for() -> None:
    events = EventList()
    for seq in range(4):
        add(events, event(seq))
    reading = iter(events)
    next(reading)
    child = events.prefix(2)
    add(events, event(4))
    add(child, event(2, 7))
    assert [event.seq for event in reading] == [1, 2, 3]
    assert [event.time for event in child] == [-1, -1, 7]
