"""Without async: an agent for a script, and a look at what it did."""

from everlog.llm.script import scripted
from everlog.sync import Conversation


def main() -> list[str]:
    answers = scripted({"demo": ["Hello.", "Fine, thank you."]})
    with Conversation("script/demo", cwd=".", store="memory:", plugins=[answers]) as conversation:
        first = conversation.ask("Hi!")
        second = conversation.ask("How are you?")
        assert len(conversation.session.messages()) >= 4
    return [first, second]


if __name__ == "__main__":
    print(*main(), sep="\n")
