"""Records: the bytes and seals of events, and checkpoints beside them."""

from __future__ import annotations

from contextlib import closing

from everlog.session.header import new_header
from everlog.store.backend import Backend, End
from everlog.store.chain import START
from everlog.testing.store_contract.suite import Suite
from everlog.testing.store_contract.telling import AWKWARD_IDS, AWKWARD_TEXTS, batch_of


class RecordContract(Suite):
    """What is stored is had back as it was given."""

    def test_records_come_back_as_they_were_given(self, backend: Backend) -> None:
        header = new_header(id="s")
        lease = backend.create(header)
        first = batch_of("s", lease.end, *AWKWARD_TEXTS)
        lease.append(first)
        second = batch_of("s", lease.end, "x" * 100_000, "")
        lease.append_synced(second)
        lease.release()
        given = [*first.data, *second.data]
        with closing(backend.reader("s")) as reader:
            assert reader.header == header.to_json()
            assert reader.end() == End(len(given), second.head)
            assert [record.data for record in reader.read(0, len(given))] == given
            assert [record.seal for record in reader.read(0, len(given))] == [*first.seals, *second.seals]

    def test_any_range_and_any_choice_can_be_read(self, backend: Backend) -> None:
        self.begun(backend, "s", *(f"text {n}" for n in range(1_500)))
        with closing(backend.reader("s")) as reader:
            whole = list(reader.read(0, 1_500))
            assert list(reader.read(700, 703)) == whole[700:703]
            assert list(reader.read(0, 0)) == []
            assert list(reader.pick([])) == []
            seqs = [1_499, 3, 3, 700, *range(0, 1_500, 2)]
            assert list(reader.pick(seqs)) == [whole[seq] for seq in seqs]

    def test_an_empty_session_has_no_records(self, backend: Backend) -> None:
        self.begun(backend, "s")
        with closing(backend.reader("s")) as reader:
            assert reader.end() == End(0, START)
            assert reader.torn is None

    def test_awkward_ids_do_not_meet(self, backend: Backend) -> None:
        for id in AWKWARD_IDS:
            self.begun(backend, id, f"this is {id}")
        for id in AWKWARD_IDS:
            assert [record.data for record in self.records(backend, id)] == batch_of(
                id, End(0, START), f"this is {id}"
            ).data
        assert {summary.id for summary in backend.list(100, None, False)} == set(AWKWARD_IDS)

    def test_checkpoints_come_back_the_newest_first(self, backend: Backend) -> None:
        lease = backend.create(new_header(id="s"))
        lease.append(batch_of("s", lease.end, "one", "two", "three"))
        lease.save_checkpoint(0, b"after one")
        lease.save_checkpoint(2, b"after three \x00")
        lease.release()
        with closing(backend.reader("s")) as reader:
            kept = list(reader.checkpoints())
        assert kept[0] == (2, b"after three \x00")
        assert kept == sorted(kept, reverse=True)
