"""Watches and processes: what a wait costs, forks, signals, and what is opened on a SQLite file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest

import tenure
from tenure.store.open import open_store
from tenure.store.sqlite.store import SqliteStore
from tenure.store.sqlite.watch import SqliteWatch
from tests.support.child import run_child
from tests.support.watching import heard_during, quiet

IDLE = """
import sys, time, tenure
from tests.support.watching import quiet
with tenure.open(sys.argv[1]) as q:
    watch = quiet(q.watch())
    if sys.argv[2] == "polls":
        watch._wanted = False
        watch.before_fork(), watch.after_fork()
        quiet(watch)
        assert watch._inotify is None
    start, used = time.monotonic(), time.process_time()
    while time.monotonic() - start < 3:
        watch.wait(1)
    print((time.process_time() - used) / (time.monotonic() - start))
"""


def test_an_idle_wait_costs_next_to_nothing(url: str) -> None:
    assert float(run_child(IDLE, url, "hears")) < 0.03


def test_an_idle_wait_without_inotify_costs_little(file_url: str) -> None:
    assert float(run_child(IDLE, file_url, "polls")) < 0.03


SIGNALLED = """
import os, signal, sys, threading, tenure
from tests.support.watching import quiet, until
with tenure.open(sys.argv[1]) as q:
    watch = quiet(q.watch())
    signal.signal(signal.SIGTERM, lambda *_: watch.interrupt())
    def send():
        until(lambda: watch._inside)
        os.kill(os.getpid(), signal.SIGTERM)
    threading.Thread(target=send).start()
    print(watch.wait(60))
"""


def test_a_signal_handler_may_interrupt_a_wait(url: str) -> None:
    assert run_child(SIGNALLED, url) == "True\n"


FORKER = """
import json, os, sys, threading, tenure
from tests.support.watching import heard_during, quiet, until
q = tenure.open(sys.argv[1])
watch = quiet(q.watch())
told = []
thread = threading.Thread(target=lambda: told.append(watch.wait(60)))
thread.start()
until(lambda: watch._inside)
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    watch.interrupt()                       # rings the child's own bell, not the parent's
    mine = [watch.wait(10)]
    mine += heard_during(quiet(watch), lambda: q.enqueue("child"))
    watch.close()
    q.close()
    os.write(writing, json.dumps(mine).encode())
    os._exit(0)
theirs = json.loads(os.read(reading, 1000))
assert os.waitpid(child, 0)[1] == 0
thread.join(60)
for _ in range(3):                          # what the child enqueued is heard, sooner or later
    quiet(watch)
mine = heard_during(watch, lambda: q.enqueue("parent"))
kinds = sorted(c.kind for c in q.claim(10))
q.close()
print(json.dumps([theirs, told, mine, kinds]))
"""


def test_a_forked_child_hears_with_ears_of_its_own_and_so_does_its_parent(url: str) -> None:
    theirs, told, mine, kinds = json.loads(run_child(FORKER, url))
    assert theirs == [True, True]
    assert told == [True]
    assert mine == [True]
    assert kinds == ["child", "parent"]


DESCRIPTORS = """
import json, os, sys, tenure
from tests.support.watching import quiet
def opened():
    names = []
    for number in os.listdir("/proc/self/fd"):
        try:
            names.append(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:
            pass
    return sorted(n.rpartition("/")[2] for n in names if "jobs.db" in n)
q = tenure.open(sys.argv[1])
q.enqueue("k")
before = opened()
watch = quiet(q.watch())
watch._inotify.close()
watch._inotify = None
without = opened()
watch._listen(watch._path + "-wal")
after = opened()
watch.close()
print(json.dumps([before, without, after, opened()]))
"""


def test_a_watch_opens_nothing_on_the_file_but_through_sqlite(file_url: str) -> None:
    """What SQLite opens for one more connection is the same with inotify and without."""
    before, without, after, closed = json.loads(run_child(DESCRIPTORS, file_url))
    assert after == without
    assert len(after) > len(before) > 0
    assert len(closed) <= len(after)


def opened(url: str) -> SqliteStore:
    store = open_store(url)
    assert isinstance(store, SqliteStore)
    return store


def test_without_inotify_commits_are_heard_by_looking(file_url: str) -> None:
    store = opened(file_url)
    q = tenure.Queue(store)
    watch = SqliteWatch(store.place.path, store._connect_apart, inotify=False)
    assert heard_during(quiet(watch), lambda: q.enqueue("k")) == [True]
    assert watch._inotify is None
    watch.close()
    q.close()


def test_a_file_that_keeps_a_rollback_journal_is_heard_too(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    db = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode = DELETE; CREATE TABLE books (title TEXT)")
    db.close()
    with tenure.open(f"sqlite:///{path}?shared=true") as q:
        watch = quiet(q.watch())
        for _ in range(3):
            assert heard_during(watch, lambda: q.enqueue("k")) == [True]
            quiet(watch)
    assert not path.with_name("app.db-wal").exists()


def test_a_file_by_another_name_is_heard(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "jobs.db")
    tenure.open(f"sqlite:///{tmp_path}/real/jobs.db").close()
    with tenure.open(f"sqlite:///{tmp_path}/link.db") as q:
        watch = quiet(q.watch())
        assert heard_during(watch, lambda: q.enqueue("k")) == [True]


@pytest.mark.parametrize("mode", ["PASSIVE", "FULL"])
def test_a_checkpoint_wakes_nobody(mode: str, tmp_path: Path) -> None:
    with tenure.open(f"sqlite:///{tmp_path}/jobs.db") as q:
        q.enqueue_many([tenure.NewJob(kind="k", payload="x" * 1_000)] * 500)
        watch = quiet(q.watch())
        other = apsw.Connection(str(tmp_path / "jobs.db"))
        [told] = other.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
        assert told[0] == 0
        assert told[2] not in (0, -1)
        assert watch.wait(0.3) is False
        other.close()


def test_a_transaction_that_writes_without_committing_wakes_nobody(tmp_path: Path) -> None:
    with tenure.open(f"sqlite:///{tmp_path}/jobs.db") as q:
        watch = quiet(q.watch())
        other = apsw.Connection(str(tmp_path / "jobs.db"))
        other.execute("PRAGMA cache_size = 5; BEGIN IMMEDIATE")
        other.executemany(
            "INSERT INTO tenure_queues (name) VALUES (?)", ((str(n) * 200,) for n in range(500))
        )
        assert watch.wait(0.3) is False
        other.execute("COMMIT")
        assert watch.wait(10)
        other.close()


def test_a_file_that_is_gone_is_no_error_and_one_that_is_back_is_heard(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    store = opened(f"sqlite:///{path}")
    watch: Any = SqliteWatch(store.place.path, store._connect_apart)
    path.rename(tmp_path / "away.db")
    assert watch.wait(0.05) is False
    assert not watch.hears
    (tmp_path / "away.db").rename(path)
    assert watch.wait(10)
    assert watch.hears
    watch.close()
    store.close()


def test_a_watch_that_nobody_has_any_more_lets_go_of_the_file(tmp_path: Path) -> None:
    store = opened(f"sqlite:///{tmp_path}/jobs.db")
    quiet(store.watch())
    store.close()
    with tenure.open(f"sqlite:///{tmp_path}/jobs.db?shared=true") as q:
        assert q.enqueue("k").inserted
