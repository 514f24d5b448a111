"""What a list shows of a session."""

from everlog import Session
from everlog.session.messages import PluginSource, user_message
from everlog.store.texts import preview_of


def test_the_first_words_are_a_persons_and_not_what_a_plugin_told_before() -> None:
    session = Session.create()
    facts = session.append(user_message("date: Monday", PluginSource(plugin="facts", form="facts")), "append")
    words = session.append(user_message("Mend  the\nbug."), "append")
    assert preview_of(facts) is None
    assert preview_of(words) == "Mend the bug."
