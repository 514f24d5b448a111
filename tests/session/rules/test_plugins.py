"""Plugins bring rules of their own: asked at every append after the core's, and kept where the core's are."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from everlog.session import CORE, AppendRefused, Event, EventType, Recording, RuleViolation, Session, Vocabulary
from everlog.session.payloads import TurnStart
from everlog.session.reloading import reload
from everlog.session.restoring import restore, save
from everlog.session.rules import check
from everlog.session.rules.ledger import Ledger
from everlog.session.views import View


class Page(View):
    """A page of a diary."""

    number: int


class PagesInOrder:
    """Pages are numbered 1, 2, … and are turned within a turn."""

    name = "acme/pages-in-order"
    version = 1
    sees: tuple[str, ...] = ("acme/page", "turn/start", "turn/end")

    def init(self) -> dict[str, Any]:
        return {"last": 0, "open": False}

    def check(self, state: dict[str, Any], event: Event) -> str | None:
        page = event.data
        if not isinstance(page, Page):
            return None
        if not state["open"]:
            return "an open turn"
        return None if page.number == state["last"] + 1 else f"page {state['last'] + 1}"

    def apply(self, state: dict[str, Any], event: Event) -> None:
        if event.type != "acme/page":
            state["open"] = event.type == "turn/start"
        elif isinstance(event.data, Page):
            state["last"] = event.data.number


TYPES = CORE.with_types(EventType("acme/page", Page))
WORDS = TYPES.with_rules(PagesInOrder())


def turned(words: Vocabulary = WORDS, pages: int = 2) -> Session:
    session = Session.create(vocabulary=words)
    session.append(TurnStart(turn=1))
    for number in range(1, pages + 1):
        session.append(Page(number=number))
    return session


def ended(session: Session) -> Session:
    session.append_json("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    return session


def test_what_a_rule_accepts_is_appended_and_typed() -> None:
    page = turned().events[-1].data
    assert isinstance(page, Page)
    assert page.number == 2


def test_what_a_rule_refuses_changes_nothing_and_is_named() -> None:
    session = turned()
    before = session.ledger.to_bytes()
    with pytest.raises(RuleViolation, match="breaks acme/pages-in-order: page 3") as refused:
        session.append(Page(number=7))
    assert (refused.value.seq, refused.value.rule, refused.value.expected) == (3, "acme/pages-in-order", "page 3")
    assert (session.next_seq, session.ledger.to_bytes()) == (3, before)
    session.append(Page(number=3))


def test_a_rule_sees_the_events_of_the_core_that_it_wants_to_see() -> None:
    session = ended(turned())
    with pytest.raises(RuleViolation, match="an open turn"):
        session.append(Page(number=3))


def test_the_core_is_asked_first_and_about_shape_before_all() -> None:
    class Nothing(PagesInOrder):
        def check(self, state: dict[str, Any], event: Event) -> str | None:
            return "nothing at all"

    session = Session.create(vocabulary=TYPES.with_rules(Nothing()))
    with pytest.raises(RuleViolation, match=r"turns\.turn-start"):
        session.append(TurnStart(turn=5))
    with pytest.raises(RuleViolation, match="nothing at all"):
        session.append(TurnStart(turn=1))
    with pytest.raises(AppendRefused, match="number"):
        session.append_json("acme/page", {})


def test_a_log_without_rules_of_plugins_has_the_plain_ledger() -> None:
    assert type(turned(TYPES).ledger) is Ledger


def test_a_recording_and_check_list_what_breaks_a_rule() -> None:
    loose = turned(TYPES)
    loose.append(Page(number=9))
    recording = Recording(loose.header, loose.events, WORDS)
    assert [(one.seq, one.rule) for one in recording.violations] == [(3, "acme/pages-in-order")]
    assert [str(one) for one in check(recording)] == [str(one) for one in recording.violations]
    assert check(loose) == []


def test_the_state_of_a_rule_survives_a_fork_at_any_boundary() -> None:
    session = turned(pages=400)  # past a snapshot of the ledger
    for at in (0, 7, 300, session.next_seq - 1):
        child = session.fork(at, open_turn="close")
        child.append(TurnStart(turn=2))
        with pytest.raises(RuleViolation, match=f"page {at + 1}"):
            child.append(Page(number=at + 2))
        child.append(Page(number=at + 1))


def test_the_state_of_a_rule_survives_saving() -> None:
    session = turned()
    again = restored(session, WORDS)
    assert again is not None
    assert again.ledger.to_bytes() == session.ledger.to_bytes()
    with pytest.raises(RuleViolation, match="page 3"):
        again.append(Page(number=2))


class Stored:
    """The events of a session as a store gives them."""

    def __init__(self, session: Session) -> None:
        self._events = session.events

    def read(self, start: int, stop: int) -> Iterator[Event]:
        return self._events.between(start, stop)

    def pick(self, seqs: Iterable[int]) -> Iterator[Event]:
        return self._events.pick(seqs)


def restored(session: Session, words: Vocabulary) -> Session | None:
    again = Session(session.header, words)
    return again if restore(again, save(session), session.next_seq, Stored(session)) else None


def test_what_was_saved_without_a_rule_or_with_another_version_of_it_is_folded_anew() -> None:
    class Newer(PagesInOrder):
        version = 2

    assert restored(turned(TYPES), WORDS) is None
    assert restored(turned(), TYPES.with_rules(Newer())) is None
    assert restored(turned(), TYPES) is not None  # one rule less is no loss


def test_a_log_that_breaks_a_rule_installed_later_is_gone_on_with() -> None:
    loose = turned(TYPES)
    loose.append(Page(number=9))
    session = reload(loose.header, ended(loose).events, WORDS)
    session.append(TurnStart(turn=2))
    session.append(Page(number=10))
    assert [one.seq for one in check(session)] == [3]


class Broken(PagesInOrder):
    """Fails at page 2: in `check`, or in `apply`."""

    def __init__(self, method: str) -> None:
        self.method = method

    def check(self, state: dict[str, Any], event: Event) -> str | None:
        return self._fail("check", event)

    def apply(self, state: dict[str, Any], event: Event) -> None:
        self._fail("apply", event)

    def _fail(self, method: str, event: Event) -> None:
        if method == self.method and isinstance(event.data, Page) and event.data.number == 2:
            raise LookupError("no such page")


def test_a_rule_that_fails_to_answer_refuses_the_append_by_its_name() -> None:
    session = turned(TYPES.with_rules(Broken("check")), pages=1)
    with pytest.raises(RuleViolation, match=r"acme/pages-in-order: .* failed \(LookupError: no such page\)"):
        session.append(Page(number=2))
    session.append(Page(number=3))


def test_a_rule_that_fails_to_take_an_event_in_leaves_it_standing_and_refuses_from_then_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR, "everlog.session"):
        session = turned(TYPES.with_rules(Broken("apply")), pages=2)
    assert session.next_seq == 3
    assert "the rule acme/pages-in-order failed to take in event 2" in caplog.text
    with pytest.raises(RuleViolation, match="LookupError: no such page, at seq 2"):
        session.append(Page(number=3))
    session.append_json("session/title", {"title": "unseen by the rule", "source": "user"})
    assert restored(session, WORDS) is None  # a mended rule is asked about the whole log again


def test_a_state_that_is_not_json_fails_its_rule_and_not_the_log(caplog: pytest.LogCaptureFixture) -> None:
    class Sets(PagesInOrder):
        def check(self, state: dict[str, Any], event: Event) -> str | None:
            return None

        def apply(self, state: dict[str, Any], event: Event) -> None:
            state["seen"] = {event.seq}

    session = turned(TYPES.with_rules(Sets()), pages=1)
    session.ledger.to_bytes()
    with pytest.raises(RuleViolation, match="its state is not JSON"):
        session.append(Page(number=2))


class Pages:
    """How many pages there are."""

    name = "acme/pages"
    version = 1

    def init(self) -> dict[str, Any]:
        return {"count": 0}

    def apply(self, state: dict[str, Any], event: Event) -> None:
        state["count"] += event.type == "acme/page"

    def view(self, state: dict[str, Any], log: object) -> int:
        return int(state["count"])


def test_a_projection_of_a_plugin_is_asked_for_by_its_name() -> None:
    session = turned(WORDS.with_projections(Pages()))
    assert session.project("acme/pages") == 2
    assert session.project("acme/pages", at=1) == 1
    with pytest.raises(KeyError, match="acme/pages"):
        session.project("acme/other")


def test_a_projection_that_fails_is_folded_anew_and_keeps_nothing_from_being_saved() -> None:
    class Moody(Pages):
        broken = False

        def apply(self, state: dict[str, Any], event: Event) -> None:
            super().apply(state, event)
            if self.broken and event.type == "turn/end":
                raise ValueError("moody")

    moody = Moody()
    session = turned(WORDS.with_projections(moody))
    assert session.project("acme/pages") == 2
    session.append(Page(number=3))
    ended(session)
    moody.broken = True
    with pytest.raises(ValueError, match="moody"):
        session.project("acme/pages")
    save(session)
    moody.broken = False
    assert session.project("acme/pages") == 3


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ({"name": "pages"}, "named vendor/name"),
        ({"name": "/pages"}, "named vendor/name"),
        ({"name": "acme/pages-in-order"}, "exists already"),
        ({"name": "acme/other", "sees": ("acme/pgae",)}, "no event type: acme/pgae"),
        ({"name": "acme/other", "init": set}, "not JSON"),
    ],
)
def test_a_rule_that_cannot_be_held_is_refused_by_the_vocabulary(rule: dict[str, Any], complaint: str) -> None:
    made = PagesInOrder()
    for name, value in rule.items():
        setattr(made, name, value)
    with pytest.raises(ValueError, match=complaint):
        WORDS.with_rules(made)


@pytest.mark.parametrize("name", ["todos", "pages", "acme/pages"])
def test_a_projection_has_a_name_of_its_own(name: str) -> None:
    made = Pages()
    made.name = name
    with pytest.raises(ValueError, match="vendor/name"):
        WORDS.with_projections(Pages()).with_projections(made)
