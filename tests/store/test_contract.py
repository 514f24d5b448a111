"""Every kind of store that comes with Everlog passes the suite that it ships."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.store.conftest import URLS

from everlog.testing.store_contract import StoreContract


class TestMemory(StoreContract):
    one_process = True

    @pytest.fixture
    def store_url(self, tmp_path: Path) -> str:
        return URLS["memory"].format(tmp_path)


class TestSqlite(StoreContract):
    @pytest.fixture
    def store_url(self, tmp_path: Path) -> str:
        return URLS["sqlite"].format(tmp_path)


class TestJsonl(StoreContract):
    @pytest.fixture
    def store_url(self, tmp_path: Path) -> str:
        return URLS["jsonl"].format(tmp_path)


class TestJsonlZstd(StoreContract):
    @pytest.fixture
    def store_url(self, tmp_path: Path) -> str:
        return URLS["jsonl-zstd"].format(tmp_path)
