"""A path that names another file, or none, is noticed at once, whatever became of the file or of a folder above it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tenure.store.sqlite import anchor as module
from tenure.store.sqlite.anchor import Anchor
from tenure.store.sqlite.file import key_of
from tenure.store.sqlite.inotify import Inotify


@pytest.fixture(params=[True, False], ids=["told", "by looking"])
def told(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the system tells of it; if so, nothing is looked at but what it tells of."""
    monkeypatch.setattr(module, "_EVERY", 3_600.0)
    return bool(request.param)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file in two folders."""
    made = tmp_path / "outer" / "inner" / "jobs.db"
    made.parent.mkdir(parents=True)
    made.touch()
    return made


@pytest.fixture
def anchored(told: bool) -> Iterator[Callable[[Path], Anchor]]:
    """An anchor that has been asked once."""
    made: list[Anchor] = []

    def cast(path: Path) -> Anchor:
        key = key_of(str(path))
        assert key is not None
        made.append(Anchor(str(path), key, inotify=told))
        assert made[-1].holds()
        return made[-1]

    yield cast
    for one in made:
        one.close()


def removed(file: Path) -> None:
    file.unlink()


def moved(file: Path) -> None:
    file.rename(file.with_name("away.db"))


def replaced(file: Path) -> None:
    (file.parent / "new.db").touch()
    (file.parent / "new.db").replace(file)


def removed_but_for_another_name(file: Path) -> None:
    file.with_name("also.db").hardlink_to(file)
    file.unlink()


def folder_moved(file: Path) -> None:
    file.parent.rename(file.parent.with_name("away"))


def outer_folder_moved(file: Path) -> None:
    file.parent.parent.rename(file.parent.parent.with_name("away"))


def outer_folder_replaced(file: Path) -> None:
    outer_folder_moved(file)
    file.parent.mkdir(parents=True)
    file.touch()


@pytest.mark.parametrize(
    "fate",
    [removed, moved, replaced, removed_but_for_another_name, folder_moved, outer_folder_moved, outer_folder_replaced],
    ids=lambda fate: fate.__name__.replace("_", " "),
)  # fmt: skip
def test_what_became_of_the_file_is_noticed_at_the_next_question(
    fate: Callable[[Path], None], anchored: Callable[[Path], Anchor], file: Path
) -> None:
    anchor = anchored(file)
    fate(file)
    assert not anchor.holds()
    assert not anchor.holds()


def test_what_leaves_the_file_where_it_is_is_no_loss(anchored: Callable[[Path], Anchor], file: Path) -> None:
    anchor = anchored(file)
    file.write_text("more")
    file.chmod(0o640)
    os.utime(file)
    (file.parent / "jobs.db-wal").touch()
    (file.parent / "jobs.db-wal").unlink()
    file.with_name("also.db").hardlink_to(file)
    file.with_name("also.db").unlink()
    assert anchor.holds()
    assert anchor.holds()


def test_a_file_that_comes_back_is_there_again_and_watched_anew(
    anchored: Callable[[Path], Anchor], file: Path
) -> None:
    anchor = anchored(file)
    outer = file.parent.parent
    file.rename(outer / "kept.db")
    assert not anchor.holds()
    outer.rename(outer.with_name("old"))
    file.parent.mkdir(parents=True)
    (outer.with_name("old") / "kept.db").rename(file)
    assert anchor.holds()
    outer_folder_moved(file)
    assert not anchor.holds()


def test_behind_a_link_it_is_looked_each_time(anchored: Callable[[Path], Anchor], file: Path) -> None:
    link = file.parent.parent.parent / "current"
    link.symlink_to(file.parent)
    anchor = anchored(link / "jobs.db")
    other = file.parent.with_name("other")
    other.mkdir()
    (other / "jobs.db").touch()
    link.unlink()
    link.symlink_to(other)
    assert not anchor.holds()


def test_a_system_that_has_no_more_inotify_is_looked_at_instead(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: object) -> None:
        raise OSError("none left")

    monkeypatch.setattr(Inotify, "__init__", refused)
    key = key_of(str(file))
    assert key is not None
    anchor = Anchor(str(file), key)
    assert anchor.holds()
    file.unlink()
    assert not anchor.holds()
    anchor.close()


def test_now_and_then_it_is_looked_though_nothing_was_told(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    key = key_of(str(file))
    assert key is not None
    anchor = Anchor(str(file), key)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    assert anchor.holds()
    monkeypatch.setattr(module, "is_at", lambda path, key: False)  # as after a mount over it
    assert anchor.holds()
    monkeypatch.setattr(time, "monotonic", lambda: now + module._EVERY)
    assert not anchor.holds()
    anchor.close()
