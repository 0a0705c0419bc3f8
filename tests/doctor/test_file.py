"""What the doctor says of a SQLite file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import apsw
import pytest

import tenure
from tenure.doctor import Finding, Limits
from tenure.doctor.file import room
from tenure.store.sqlite import file as files
from tests.doctor.visits import visit, worse


def test_a_healthy_file_is_all_well(file: Path) -> None:
    with tenure.open(f"sqlite:///{file}") as q:
        q.beat("w")
        q.enqueue("send")
        q.schedule("nightly", "@every 1h", "report")
        assert worse(f"sqlite:///{file}") == []


def test_a_log_that_only_grows(file: Path) -> None:
    url = f"sqlite:///{file}"
    reader, writer = apsw.Connection(str(file)), apsw.Connection(str(file))
    try:
        reader.execute("BEGIN; SELECT * FROM tenure_meta").fetchall()
        writer.execute(
            "INSERT INTO tenure_requests (job_id, body, headers) VALUES ('x', zeroblob(2000000), '{}')"
        )
        [found] = visit(url, "wal", wal=1_000_000)
        assert found.level == "warning"
        assert found.found.startswith("the write-ahead log has grown to 1.9 MiB")
        assert "transaction that does not end" in found.fix
    finally:
        reader.close()
        writer.close()


def test_a_file_that_is_not_in_wal_mode(tmp_path: Path) -> None:
    theirs = sqlite3.connect(tmp_path / "theirs.db")
    theirs.execute("CREATE TABLE theirs (x)")
    theirs.close()
    url = f"sqlite:///{tmp_path}/theirs.db?shared=true"
    tenure.open(url).close()
    [found] = visit(url, "wal")
    assert (found.level, found.found) == ("note", "the file is in journal mode delete")


def test_the_library_of_a_shared_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shared.db?shared=true"
    tenure.open(url).close()
    [found] = visit(url, "sqlite")
    assert found.level == ("ok" if sqlite3.sqlite_version_info >= (3, 51, 3) else "warning")
    assert found.found.startswith(f"SQLite {sqlite3.sqlite_version}, of Python's own sqlite3")


def test_others_may_read_the_file(file: Path) -> None:
    file.chmod(0o644)
    [found] = visit(f"sqlite:///{file}", "mode")
    assert found.level == "note"
    assert "has mode 0644" in found.found
    assert found.fix.startswith("chmod 600 ")


def test_less_than_full_durability(file: Path) -> None:
    [found] = visit(f"sqlite:///{file}?durability=normal", "durability")
    assert found.level == "note"


def test_a_network_filesystem(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "mounts"
    table.write_text(f"server:/x {tmp_path} nfs4 rw 0 0\n")
    monkeypatch.setattr(files, "MOUNTS", table)
    found = worse(f"sqlite:///{file}")
    assert [(finding.level, finding.check) for finding in found] == [
        ("error", "filesystem"),
        ("error", "store"),
    ]
    assert found[0].found.endswith("is on a network filesystem (nfs4)")


def test_little_room() -> None:
    limits = Limits()
    assert room(5 * 2**30, limits) == Finding("ok", "disk", "5.0 GiB are free")
    assert room(2**29, limits).level == "warning"
    assert (room(2**20, limits).level, room(2**20, limits).found) == ("error", "1.0 MiB are free")


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    [found] = worse(f"sqlite:///{tmp_path}/none.db")
    assert (found.level, found.check) == ("error", "schema")
    assert not (tmp_path / "none.db").exists()


def test_a_file_that_is_something_else(tmp_path: Path) -> None:
    (tmp_path / "other.db").write_text("this is no database " * 100)
    [found] = worse(f"sqlite:///{tmp_path}/other.db")
    assert (found.level, found.check) == ("error", "store")


def test_a_schema_of_a_newer_tenure(file: Path) -> None:
    url = f"sqlite:///{file}"
    theirs = apsw.Connection(str(file))
    theirs.execute("INSERT INTO tenure_meta VALUES (2, 'later', 1)")
    [found] = worse(url)
    assert (found.level, found.check) == ("note", "schema")
    assert found.found == "migration 2, for clients of schema 1 or later; this one is of 1"
    theirs.execute("UPDATE tenure_meta SET min_client = 2 WHERE number = 2")
    theirs.close()
    [found] = worse(url)
    assert (found.level, found.check) == ("error", "store")
    assert "upgrade tenure here" in found.found


def test_a_check_that_fails_is_a_finding(file: Path) -> None:
    theirs = apsw.Connection(str(file))
    theirs.execute("DROP TABLE tenure_schedules")
    theirs.close()
    found = worse(f"sqlite:///{file}")
    assert [(one.level, one.check) for one in found] == [("error", "cron"), ("error", "workers")]
    assert all(one.found.startswith("it could not be looked at: ") for one in found)


def test_a_schedule_that_cannot_fire(file: Path) -> None:
    with tenure.open(f"sqlite:///{file}") as q:
        q.schedule("nightly", "0 3 * * *", "report")
    theirs = apsw.Connection(str(file))
    theirs.execute("UPDATE tenure_schedules SET tz = 'Nowhere/None'")
    theirs.close()
    [found] = worse(f"sqlite:///{file}")
    assert (found.level, found.check) == ("error", "cron")
    assert found.found.startswith("schedule 'nightly' cannot fire: ")
