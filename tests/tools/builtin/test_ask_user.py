"""ask_user: the person's words, or that nobody is there."""

from collections.abc import Sequence

from tests.tools.workshop import Workshop, code, text

from everlog.tools.seam import Respondent


async def test_the_answer_comes_back_in_the_persons_words(shop: Workshop) -> None:
    class Person(Respondent):
        async def respond(self, question: str, choices: Sequence[str]) -> str:
            return f"{question} {choices}: the blue one"

    shop.scope.provide(Respondent, Person())
    assert text(await shop.one("ask_user", question="Which?", choices=["red"])) == "Which? ['red']: the blue one"


async def test_without_anybody_the_model_is_told_to_go_on(shop: Workshop) -> None:
    result = await shop.one("ask_user", question="Which?")
    assert code(result) == "NOBODY_THERE"
    assert "say what you assumed" in text(result)
