"""Which variables are secret, and where their values are looked for."""

import pytest

from everlog.tools.environment import is_secret, redacted, secrets_of, without_secrets

SECRET_NAMES = [
    *("OPENAI_API_KEY", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "PGPASSWORD", "CLIENT_SECRET"),
    *("npm_config__authToken", "SENTRY_DSN", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_DEVOPS_PAT", "APIKEY1"),
]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_secret_names(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "MAX_TOKENS", "TOKENIZERS_PARALLELISM", "SSH_AUTH_SOCK", "KEYBOARD", "MONKEY", "PATTERN"]
)
def test_ordinary_names(name: str) -> None:
    assert not is_secret(name)


def test_an_address_with_a_password_is_secret_whatever_its_name() -> None:
    environ = {"DATABASE_URL": "postgres://me:hunter2@db/x", "HOMEPAGE": "https://example.org/a:b"}
    assert without_secrets(environ) == {"HOMEPAGE": "https://example.org/a:b"}


def test_a_variable_with_the_value_of_a_secret_one_is_secret() -> None:
    environ = {"API_KEY": "k-1234567890", "COPY": "k-1234567890", "WORD_TOKEN": "postgres", "DB": "postgres"}
    assert without_secrets(environ) == {"DB": "postgres"}
    assert without_secrets(environ, keep=["API_KEY"]) == {"API_KEY": "k-1234567890", "DB": "postgres"}


def test_values_are_taken_out_of_texts_but_ordinary_words_are_not() -> None:
    secrets = secrets_of({"API_KEY": "k-1234567890", "LONG_TOKEN": "k-1234567890-and-more", "DB_PASSWORD": "postgres"})
    told = redacted("k-1234567890 k-1234567890-and-more postgres", secrets)
    assert told == "[value of API_KEY removed] [value of LONG_TOKEN removed] postgres"
