"""What is known of providers and models is data that ships, and can be overridden and added to."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.llm.asking import service

from everlog.kernel import Config, ConfigError
from everlog.llm.catalogue import Catalogue
from everlog.llm.models import key_variables
from everlog.llm.seam import ProviderUnavailable, UnknownModel


def catalogue(toml: str = "") -> Catalogue:
    return Catalogue.load(Config.parse(toml))


def test_what_ships_can_be_read_and_every_model_has_its_provider() -> None:
    known = catalogue()
    assert known.providers["openai"].key_env == "OPENAI_API_KEY"
    assert {name.partition("/")[0] for name in known.models} <= set(known.providers)
    assert all(provider.base_url.startswith("http") for provider in known.providers.values())


def test_a_model_takes_the_facts_of_the_longest_name_that_it_begins_with() -> None:
    known = catalogue('[model."openai/gpt-4.1-mini"]\ncontext_window = 7\n')
    assert known.facts("openai", "gpt-4.1-2025-04-14").context_window == 1_047_576
    assert known.facts("openai", "gpt-4.1-mini-2025-04-14").context_window == 7
    assert known.facts("openai", "gpt-4.12").context_window is None
    assert known.facts("deepseek", "gpt-4.1").context_window is None


def test_values_are_overridden_one_by_one() -> None:
    known = catalogue('[provider.deepseek]\nbase_url = "http://proxy"\n[provider.deepseek.dialect]\nmedia = true\n')
    assert known.providers["deepseek"].base_url == "http://proxy"
    assert known.providers["deepseek"].key_env == "DEEPSEEK_API_KEY"
    assert known.providers["deepseek"].dialect["media"] is True
    assert known.providers["deepseek"].dialect["max_tokens"] == "max_tokens"


async def test_an_endpoint_of_ones_own_takes_four_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "k")
    toml = """
        [provider.lab]
        base_url = "http://lab/v1"
        key_env = "LAB_KEY"
        options = { max_tokens = 4096 }
    """
    async with service(toml) as models:
        route = models.resolve("lab/qwen3:30b")
    assert (route.provider, route.model, route.context_window) == ("lab", "qwen3:30b", None)


async def test_options_come_from_the_provider_then_the_model_then_the_caller() -> None:
    toml = (
        '[provider.lab]\nbase_url = "http://lab/v1"\nneeds_key = false\n'
        "options = { temperature = 0.1, top_p = 0.9, max_tokens = 10 }\n"
        '[model."lab/m"]\noptions = { temperature = 0.2, max_tokens = 20 }\n'
    )
    async with service(toml) as models:
        config = models.resolve("lab/m", {"maxTokens": 30}).config
    assert (config["temperature"], config["topP"], config["maxTokens"]) == (0.2, 0.9, 30)


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        ('[provider.lab]\nbaseurl = "x"', r":2: .*baseurl"),
        ("[provider.lab]\nmax_concurrent = 1.5", "max_concurrent"),
        ('[model."a/b"]\ncontext_window = "big"', "context_window"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(toml: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        catalogue(toml)


def test_a_project_may_not_say_where_keys_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    monkeypatch.delenv("EVERLOG_CONFIG", raising=False)
    (tmp_path / "everlog.toml").write_text('[provider.openai]\nbase_url = "http://evil"\n')
    with pytest.raises(ConfigError, match="a project may not say where keys and prompts go"):
        Catalogue.load(Config.load(tmp_path))


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own file."""
    monkeypatch.setattr("platformdirs.user_config_path", lambda *args, **kwargs: tmp_path / "user")
    (tmp_path / "user").mkdir()
    return tmp_path / "user" / "everlog.toml"


def test_a_project_may_not_say_what_models_cost(user: Path, tmp_path: Path) -> None:
    user.write_text('[model."lab/m".price]\ninput = 3\n')
    (tmp_path / "everlog.toml").write_text('[model."lab/m".price]\ninput = 0\n')
    with pytest.raises(ConfigError, match=r"model.lab/m.price: a project may not say what models cost"):
        Catalogue.load(Config.load(tmp_path, {}))


def test_an_entry_of_a_project_hides_no_price(user: Path, tmp_path: Path) -> None:
    user.write_text('[model."lab/m".price]\ninput = 3\n')
    (tmp_path / "everlog.toml").write_text('[model."lab/m-2026"]\ncontext_window = 9\n')
    facts = Catalogue.load(Config.load(tmp_path, {})).facts("lab", "m-2026")
    assert facts.context_window == 9
    assert facts.price is not None
    assert facts.price.input == 3


async def test_names_that_lead_nowhere_say_what_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with service("[provider.bare]\nneeds_key = false") as models:
        with pytest.raises(UnknownModel, match=r"name it as provider/model.*openai"):
            models.resolve("gpt-5")
        with pytest.raises(UnknownModel, match=r"no provider 'opnai'.*known: anthropic, bare, deepseek"):
            models.resolve("opnai/gpt-5")
        with pytest.raises(ProviderUnavailable, match="set OPENAI_API_KEY, or run: everlog auth set openai"):
            models.resolve("openai/gpt-5")
        with pytest.raises(ProviderUnavailable, match=r"no base_url: add it to \[provider.bare\]"):
            models.resolve("bare/m")


def test_every_variable_that_may_hold_a_key_is_known() -> None:
    names = key_variables(
        Config.parse('[provider.my-lab]\nbase_url = "x"\nheaders = { A = "env:TENANT", B = "plain" }\n')
    )
    assert {"OPENAI_API_KEY", "MY_LAB_API_KEY", "TENANT"} <= names
    assert "plain" not in names
