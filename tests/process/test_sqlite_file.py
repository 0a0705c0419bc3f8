"""SQLite files: which are used and which are refused, how they are set, and what a failing disk does to them."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import apsw
import pytest

import tenure
from tenure.config import SqlitePlace, locate
from tenure.store.open import open_store
from tenure.store.sqlite import connection as connections
from tenure.store.sqlite import file as files
from tenure.store.sqlite.store import SqliteStore
from tests.support.child import run_child, start_child
from tests.support.workers import until

SHARED = "?shared=true"


def opened(url: str) -> SqliteStore:
    store = open_store(url, patience=0)
    assert isinstance(store, SqliteStore)
    return store


def path_of(url: str) -> Path:
    place = locate(url)
    assert isinstance(place, SqlitePlace)
    return Path(place.path)


def pragma(store: SqliteStore, name: str) -> Any:
    [(value,)] = store._link(0).query(f"PRAGMA {name}", {})
    return value


def users_file(path: Path) -> None:
    """A database somebody else made, with a table of theirs."""
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE books (title TEXT)")
    db.execute("INSERT INTO books VALUES ('Emma')")
    db.commit()
    db.close()


def books(path: Path) -> list[Any]:
    db = sqlite3.connect(path)
    try:
        return db.execute("SELECT title FROM books").fetchall()
    finally:
        db.close()


# What is refused


def test_a_file_with_foreign_tables_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    users_file(path)
    before = path.read_bytes()
    with pytest.raises(
        tenure.StoreRefused, match=r"tables that are not Tenure's \(books\).*another file.*\?shared=true"
    ):
        opened(f"sqlite:///{path}")
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["app.db"]


@pytest.mark.parametrize("options", ["", SHARED])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(options: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to have a header of its own\n" * 50)
    before = path.read_bytes()
    with pytest.raises(
        tenure.StoreRefused, match=r"notes\.txt is not a SQLite database, or is damaged; name another file"
    ):
        opened(f"sqlite:///{path}{options}")
    assert path.read_bytes() == before


@pytest.mark.parametrize("options", ["", SHARED])
def test_a_folder_is_refused(options: str, tmp_path: Path) -> None:
    with pytest.raises(tenure.StoreRefused, match=r"it is a folder; name a file"):
        opened(f"sqlite:///{tmp_path}{options}")


@pytest.mark.parametrize("options", ["", SHARED])
def test_a_file_in_a_folder_that_is_missing_is_refused(options: str, tmp_path: Path) -> None:
    with pytest.raises(
        tenure.StoreUnavailable, match=r"the folder .*/missing does not exist; create it first"
    ):
        opened(f"sqlite:///{tmp_path}/missing/jobs.db{options}")
    assert not (tmp_path / "missing").exists()


AS_ANYBODY = """
import ctypes, sys
def without_overrule():
    # Root overrules permission bits by two capabilities (1 and 2); without them its own bits bind it like anybody's.
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    sets[0] &= ~0b110
    if libc.capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capset")
if sys.platform == "linux":
    without_overrule()
import tenure
try:
    tenure.open(sys.argv[1]).enqueue("k")
except tenure.StoreUnavailable as error:
    print(error)
"""


def test_a_file_that_is_read_only_is_said_to_be(file_url: str) -> None:
    with tenure.open(file_url) as q:
        kept = q.enqueue("k").id
    path = path_of(file_url)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        said = run_child(AS_ANYBODY, file_url)
    finally:
        path.parent.chmod(0o755)
    assert said.count("\n") == 1
    assert "read-only" in said or "cannot open" in said
    assert "check" in said
    path.chmod(0o644)
    with tenure.open(file_url) as q:
        assert [job.id for job in q.list()] == [kept]


def test_a_folder_that_cannot_be_written_to_is_said_to_be(file_url: str) -> None:
    folder = path_of(file_url).parent
    folder.chmod(0o555)
    try:
        said = run_child(AS_ANYBODY, file_url)
    finally:
        folder.chmod(0o755)
    assert said.count("\n") == 1
    assert "jobs.db" in said
    assert "check" in said
    assert list(folder.iterdir()) == []


def test_one_library_per_file_and_process(file_url: str, tmp_path: Path) -> None:
    """Two SQLite libraries in one process drop each other's locks, whatever names the file has."""
    path = tmp_path / "jobs.db"
    other = "" if file_url.endswith(SHARED) else SHARED
    with tenure.open(file_url) as q:
        (tmp_path / "link.db").symlink_to(path)
        (tmp_path / "hard.db").hardlink_to(path)
        for name in ("jobs.db", "link.db", "hard.db"):
            with pytest.raises(
                tenure.StoreRefused, match=r"already open in this process through .*use one way"
            ):
                opened(f"sqlite:///{tmp_path}/{name}{other}")
        assert q.enqueue("k").inserted
        with tenure.open(file_url) as same:
            assert len(same.list()) == 1


def test_a_new_file_in_place_of_one_that_is_gone_may_be_opened_either_way(tmp_path: Path) -> None:
    """A filesystem gives the number of a file that is gone to the next one: it is not the same file for that."""
    for turn in range(6):
        with tenure.open(f"sqlite:///{tmp_path}/jobs.db{SHARED if turn % 2 else ''}") as q:
            q.enqueue("k")
            assert len(q.list()) == 1
        for left in tmp_path.iterdir():
            left.unlink()


MOUNTED = """\
/dev/sda1 / ext4 rw,relatime 0 0
server:/export /mnt/nfs nfs4 rw,vers=4.2 0 0
//nas/share /mnt/my\\040share cifs rw 0 0
me@host:/home /mnt/ssh fuse.sshfs rw 0 0
/dev/sdb1 /mnt/nfs/local xfs rw 0 0
server:/a /mnt/over nfs rw 0 0
tmpfs /mnt/over tmpfs rw 0 0
garbage
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/srv/data", None),
        ("/mnt", None),
        ("/mnt/nfs", "nfs4"),
        ("/mnt/nfs/deep/er", "nfs4"),
        ("/mnt/nfs2", None),
        ("/mnt/nfs/local/deep", None),
        ("/mnt/my share/jobs", "cifs"),
        ("/mnt/ssh", "fuse.sshfs"),
        ("/mnt/over", None),
    ],
)
def test_a_network_filesystem_is_told_by_the_innermost_mount(folder: str, kind: str | None) -> None:
    assert files.network_filesystem(folder, MOUNTED) == kind


def test_a_file_on_a_network_filesystem_is_refused(
    file_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "mounts"
    place = str(tmp_path.resolve()).replace(" ", "\\040")
    table.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/export {place} nfs4 rw 0 0\n")
    monkeypatch.setattr(files, "MOUNTS", table)
    with pytest.raises(
        tenure.StoreRefused, match=r"network filesystem \(nfs4\).*use a local disk, or PostgreSQL"
    ):
        opened(file_url)
    assert [p.name for p in tmp_path.iterdir()] == ["mounts"]


def test_a_link_to_a_file_on_a_network_filesystem_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far, near = tmp_path / "far", tmp_path / "near"
    far.mkdir()
    near.mkdir()
    table = tmp_path / "mounts"
    place = str(far.resolve()).replace(" ", "\\040")
    table.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/export {place} nfs4 rw 0 0\n")
    monkeypatch.setattr(files, "MOUNTS", table)
    (near / "jobs.db").symlink_to(far / "jobs.db")
    with pytest.raises(tenure.StoreRefused, match=r"network filesystem \(nfs4\)"):
        opened(f"sqlite:///{near}/jobs.db")
    assert [*far.iterdir()] == []


def test_where_there_is_no_mount_table_the_file_is_used(
    file_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOUNTS", tmp_path / "no-such-table")
    with tenure.open(file_url) as q:
        assert q.enqueue("k").inserted


# How a file is set


def test_a_file_tenure_creates_is_its_owner_s_alone(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        with tenure.open(f"sqlite:///{tmp_path}/jobs.db") as q:
            q.enqueue("k")
            found = {p.name: oct(p.stat().st_mode & 0o777) for p in tmp_path.iterdir()}
    finally:
        os.umask(umask)
    assert found == {"jobs.db": "0o600", "jobs.db-wal": "0o600", "jobs.db-shm": "0o600"}


def test_a_file_that_was_there_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    path.touch()
    path.chmod(0o640)
    tenure.open(f"sqlite:///{path}").close()
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("more", ["", SHARED], ids=["own", "shared"])
def test_no_connection_maps_the_file_into_memory(tmp_path: Path, more: str) -> None:
    """A map of a file that is cut short, or whose disk fails, ends the process instead of one call."""
    path = tmp_path / "jobs.db"
    store = opened(f"sqlite:///{path}{more}")
    try:
        with tenure.Queue(store) as q:
            for _ in range(2):
                apart, let_go = store._connect_apart()
                links = [store._link(0), store._link(1), apart]
                # SQLite answers nothing where the system it is on knows no maps at all.
                assert [link.query("PRAGMA mmap_size", {}) for link in links] == [[(0,)]] * 3
                apart.close()
                let_go()
                q.enqueue_many([tenure.NewJob(kind="k", payload="x" * 5_000) for _ in range(200)])
                assert len(q.claim(50)) == 50
                assert str(path) not in Path("/proc/self/maps").read_text().replace(f"{path}-shm", "")
    finally:
        store.close()


def test_a_new_file_is_durable_in_every_write(file_url: str) -> None:
    store = opened(file_url)
    try:
        assert pragma(store, "journal_mode") == "wal"
        assert pragma(store, "synchronous") == 2
        assert pragma(store, "auto_vacuum") == 2
    finally:
        store.close()


def synced(q: tenure.Queue) -> bool:
    """Whether the last thing that was written waited for the disk."""
    store = q._store
    assert isinstance(store, SqliteStore)
    return bool(pragma(store, "synchronous") >= 2)


def test_a_claim_promises_nothing_and_does_not_wait_for_the_disk_but_what_is_promised_does(
    file_url: str,
) -> None:
    with tenure.open(file_url) as q:
        q.enqueue("k")
        assert synced(q)
        [claim] = q.claim()
        assert not synced(q)
        q.enqueue("k", {"n": 2})
        assert synced(q)
        q.renew([claim])
        assert not synced(q)
        q.settle(claim, tenure.Done())
        assert synced(q)


def test_a_shared_file_without_a_write_ahead_log_always_waits_for_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    users_file(path)
    with tenure.open(f"sqlite:///{path}{SHARED}") as q:
        q.enqueue("k")
        assert len(q.claim()) == 1
        assert synced(q)


def test_the_weaker_mode_has_to_be_asked_for(file_url: str) -> None:
    store = opened(file_url + ("&" if "?" in file_url else "?") + "durability=normal")
    try:
        assert (pragma(store, "journal_mode"), pragma(store, "synchronous")) == ("wal", 1)
    finally:
        store.close()


def test_a_shared_file_keeps_the_user_s_tables_and_journal(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    users_file(path)
    with tenure.open(f"sqlite:///{path}{SHARED}") as q:
        q.enqueue("k")
        assert len(q.claim()) == 1
    assert books(path) == [("Emma",)]
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert db.execute("PRAGMA application_id").fetchone() == (0,)
    assert db.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'tenure%' AND name NOT LIKE 'sqlite%'").fetchall() == [("books",)]  # fmt: skip
    db.close()


def test_a_write_to_a_shared_file_is_durable_whatever_its_journal(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    users_file(path)
    store = opened(f"sqlite:///{path}{SHARED}")
    try:
        assert (pragma(store, "journal_mode"), pragma(store, "synchronous")) == ("delete", 3)
    finally:
        store.close()


@pytest.mark.parametrize("prefix", ["", "1x", "a-b", 'x"y', "Upper", "a" * 41])
def test_a_bad_prefix_is_refused_before_anything_is_made(prefix: str, tmp_path: Path) -> None:
    with pytest.raises(tenure.FieldError, match="prefix: must be a plain identifier"):
        opened(f"sqlite:///{tmp_path}/jobs.db?prefix={prefix}")
    assert list(tmp_path.iterdir()) == []


# What a failing disk does


def test_a_full_database_stores_nothing_and_works_again(file_url: str) -> None:
    store = opened(file_url)
    q = tenure.Queue(store)
    kept = [q.enqueue("k", "x" * 1_000).id for _ in range(3)]
    store._link(0).query(f"PRAGMA max_page_count = {pragma(store, 'page_count') + 3}", {})
    with pytest.raises(
        tenure.StoreUnavailable, match=r"the disk of .*jobs\.db is full; nothing was stored; free some space"
    ):
        q.enqueue_many([tenure.NewJob(kind="k", payload="x" * 50_000) for _ in range(5)])
    assert {job.id for job in q.list()} == set(kept)
    store._link(0).query("PRAGMA max_page_count = 1073741823", {})
    kept.append(q.enqueue("k", "x" * 50_000).id)
    assert {job.id for job in q.list()} == set(kept)
    q.close()


FULL_DISK = """
import json, os, resource, sys, tenure
q = tenure.open(sys.argv[1])
kept, refused = [q.enqueue("k", "x" * 1000).id for _ in range(3)], []
path = sys.argv[2]
room = max(os.path.getsize(p) for p in (path, path + "-wal") if os.path.exists(p)) + 300_000
resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
while not refused:
    try:
        kept += [a.id for a in q.enqueue_many([tenure.NewJob(kind="k", payload="y" * 20_000) for _ in range(3)])]
    except tenure.StoreUnavailable as error:
        refused.append(str(error))
stored = sorted(j.id for j in q.list(limit=1000))
assert stored == sorted(kept), "torn"
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
kept.append(q.enqueue("k", "z" * 20_000).id)
[claim] = q.claim()
assert q.settle(claim, tenure.Done())
q.close()
print(json.dumps([kept, refused]))
"""


def test_a_disk_that_takes_no_more_stores_nothing_torn_and_works_again(file_url: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    kept, [refused] = json.loads(run_child(FULL_DISK, file_url, str(path)))
    assert len(kept) > 4
    assert "check the disk" in refused or "free some space" in refused
    assert "\n" not in refused
    with tenure.open(file_url) as q:
        assert {job.id for job in q.list(limit=1_000)} == set(kept)
        assert q.counts()["default"]["done"] == 1
    db = apsw.Connection(str(path))
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()


LOCKER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
db.execute("ROLLBACK")
db.close()
print("free", flush=True)
"""


def test_a_file_that_another_process_keeps_locked_is_unavailable_until_it_is_free(
    file_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BUSY_MS", 1_000)
    store = opened(file_url)
    q = tenure.Queue(store)
    with start_child(LOCKER, str(tmp_path / "jobs.db")) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(
            tenure.StoreUnavailable, match=r"has been locked by another process for 1 s; find the long"
        ):
            q.enqueue("k")
        assert q.list() == []
        other.stdin.write("\n")
        other.stdin.flush()
        assert other.stdout.readline() == "free\n"
        assert q.enqueue("k").inserted
    q.close()


def test_a_queue_waits_for_a_lock_that_is_soon_let_go(file_url: str, tmp_path: Path) -> None:
    with tenure.open(file_url) as q, start_child(LOCKER, str(tmp_path / "jobs.db")) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "locked\n"
        other.stdin.write("\n")
        other.stdin.flush()
        answer = q.enqueue("k")
        assert [job.id for job in q.list()] == [answer.id]


def test_a_log_that_grew_large_begins_anew_where_jobs_are_stored_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    log = Path(f"{path}-wal")
    with tenure.open(f"sqlite:///{path}") as q:
        reader = apsw.Connection(str(path))
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM tenure_jobs").fetchall()
        while log.stat().st_size <= 20_000_000:  # more than is let stand
            q.enqueue_many([tenure.NewJob(kind="large", payload="x" * 100_000) for _ in range(40)])
        reader.close()

        def begun_anew() -> bool:
            for _ in range(64):
                q.enqueue("small", None)
            return log.stat().st_size < 16_000_000

        until(begun_anew)
