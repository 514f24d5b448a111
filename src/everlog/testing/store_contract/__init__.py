"""The suite that every kind of store passes. A package that brings one runs it with one fixture.

    from everlog.testing.store_contract import StoreContract

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store_url(self, tmp_path):
            return f"mine://{tmp_path}"

`store_url` gives the URL of a fresh, empty store, which may be opened more than once and by other processes
(set `one_process = True` for a store that lives in the memory of one). The URL's scheme is registered by an
entry point of the group `everlog.stores`, or with `everlog.store.add_scheme` before.
"""

from everlog.testing.store_contract.contract import StoreContract
from everlog.testing.store_contract.telling import AWKWARD_IDS, batch_of

__all__ = ["AWKWARD_IDS", "StoreContract", "batch_of"]
