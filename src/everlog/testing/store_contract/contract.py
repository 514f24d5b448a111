"""The whole suite."""

from __future__ import annotations

from everlog.testing.store_contract.blobs import BlobContract
from everlog.testing.store_contract.copies import CopyContract
from everlog.testing.store_contract.forks import ForkContract
from everlog.testing.store_contract.leases import LeaseContract
from everlog.testing.store_contract.lists import ListContract
from everlog.testing.store_contract.records import RecordContract
from everlog.testing.store_contract.reloads import ReloadContract
from everlog.testing.store_contract.sessions import SessionContract
from everlog.testing.store_contract.trash import TrashContract


class StoreContract(
    RecordContract,
    LeaseContract,
    ListContract,
    CopyContract,
    ForkContract,
    TrashContract,
    BlobContract,
    SessionContract,
    ReloadContract,
):
    """All that a store guarantees. A subclass brings the fixture `store_url`."""
