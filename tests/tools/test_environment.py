"""Which variables are secret, and where their values are looked for."""

import pytest

from everlog.tools.environment import is_secret, redacted, secrets_of, without_secrets


@pytest.mark.parametrize(
    "name",
    (
        "OPENAI_API_KEY GH_TOKEN AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID PGPASSWORD npm_config__authToken SENTRY_DSN"
        " GOOGLE_APPLICATION_CREDENTIALS AZURE_DEVOPS_PAT CLIENT_SECRET APIKEY1"
    ).split(),
)
