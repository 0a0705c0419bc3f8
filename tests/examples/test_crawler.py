"""The crawler as its users run it: a process of its own, stopped, killed and started again. The site is ours, to look at."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tenure
from examples.crawler import jobs, store
from examples.crawler.site import MANGA, PAGES, Site, chapters_of, image
from tests.support.child import ROOT
from tests.support.fresh import Kind, fresh_url

Chapter = tuple[str, int]


@pytest.fixture(params=["shared", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[str]:
    """A database for the queue and the crawler's records; nothing is in it yet."""
    kind: Kind = request.param
    with fresh_url(kind, tmp_path, postgres_url) as made:
        yield made


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where the pages go."""
    return tmp_path / "manga"


def start(url: str, out: Path, site: Site, *more: str) -> subprocess.Popen[str]:
    command = [
        "-m",
        "examples.crawler",
        "--plain",
        "--url",
        url,
        "--out",
        str(out),
        "--site",
        site.url,
        *more,
    ]
    return subprocess.Popen(
        [sys.executable, "-W", "error", *command],
        cwd=ROOT,
        env={**os.environ, "TENURE_LEASE": "5s"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(crawler: subprocess.Popen[str]) -> tuple[int, str]:
    """How it ended, and what it said."""
    try:
        said, complaints = crawler.communicate(timeout=100)
    except subprocess.TimeoutExpired:
        crawler.kill()
        pytest.fail(f"the crawler did not end: {crawler.communicate()}")
    return crawler.returncode, (said or "") + complaints


def crawl(url: str, out: Path, site: Site, *more: str) -> None:
    code, told = end(start(url, out, site, *more))
    assert code == 0, told


def wait_for(crawler: subprocess.Popen[str], fact: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 100
    while not fact():
        if crawler.poll() is not None or time.monotonic() > deadline:
            crawler.kill()
            pytest.fail(f"the fact did not come true: {end(crawler)}")
        time.sleep(0.01)


def files_in(out: Path) -> dict[str, bytes]:
    return {str(f.relative_to(out)): f.read_bytes() for f in out.rglob("*") if f.is_file()}


def files_of(chapters: set[Chapter]) -> dict[str, bytes]:
    pages = range(1, PAGES + 1)
    return {f"{slug}/{n:03}/{page}.png": image(slug, n, page) for slug, n in chapters for page in pages}


def edition(number: int) -> set[Chapter]:
    return {(slug, n) for slug in MANGA for n in chapters_of(slug, number)}


def jobs_in(url: str) -> list[tenure.JobSeen]:
    with tenure.open(url) as queue:
        return list(queue.list(limit=1_000))


def done(url: str, kind: str) -> int:
    return len([job for job in jobs_in(url) if job.kind == kind and job.state is tenure.State.DONE])


def dropped(url: str) -> set[Chapter]:
    with store.transaction(url) as db:
        return {tuple(row) for row in db.run("SELECT manga, number FROM crawler_chapters WHERE dropped")}


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_what_a_url_says_to_tenure_alone_reaches_no_driver(url: str) -> None:
    place = store.completed(f"{url}&notify=false&pgbouncer=true")
    store.prepare(place)
    for _ in range(2):  # each transaction finds its tables anew
        with store.transaction(place) as db:
            db.add_manga("a", "A")
    with store.transaction(place) as db:
        assert (db.count("manga"), db.run("SELECT current_schema()")) == (1, [(url.partition("schema=")[2],)])
    assert store.forget(place) == ["a"]


def test_a_killed_crawler_goes_on_and_has_every_page_exactly_once(url: str, out: Path) -> None:
    with Site(session=25) as site:
        site.hold(after=40)
        crawler = start(url, out, site)
        wait_for(crawler, lambda: len(list(out.glob("*/*/*.png"))) == 40)
        crawler.send_signal(signal.SIGKILL)
        end(crawler)
        before = [f.relative_to(out) for f in out.glob("*/*/*.png")]
        unfinished = next(f for f in out.glob("*/*") if len(list(f.glob("*.png"))) < PAGES)
        step = jobs.SyncChapterContent(unfinished.parent.name, int(unfinished.name))
        [job] = [j for j in jobs_in(url) if j.payload == jobs.job_for(step).payload]
        (unfinished / f"9.png.{job.id}-{job.epoch}.part").write_bytes(b"by a worker that was killed")
        site.let_go()
        crawl(url, out, site)
        assert files_in(out) == files_of(edition(1))
        again = [f for f in before if site.requests[f"/image/{f.parts[0]}/{int(f.parts[1])}/{f.name}"] != 1]
        assert again == []
    made = jobs_in(url)
    assert {(job.state, job.attempt) for job in made} == {(tenure.State.DONE, 1)}
    assert "sync_chapter_content" in {job.kind for job in made if job.crashes}


class Pages:
    """A site with one chapter of two pages; `meanwhile` happens while a page is fetched."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self._meanwhile = meanwhile

    def json(self, _path: str) -> dict[str, list[str]]:
        return {"pages": ["/image/a/1/1.png", "/image/a/1/2.png"]}

    def get(self, path: str) -> bytes:
        self._meanwhile()
        return path.encode()


def held(queue: tenure.Queue, epoch: int) -> tenure.Context:
    """The context of who holds the chapter at this epoch: somebody else may have taken it back since."""
    if not queue.counts():
        queue.enqueue("k")
    [claim] = queue.claim()
    assert claim.epoch == epoch
    assert queue.settle(claim, tenure.Release())
    return tenure.Context(claim, lambda _: None)


def test_a_chapter_is_saved_only_once_its_folders_are_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "manga"
    monkeypatch.setattr(jobs, "OUT", out)
    monkeypatch.setattr(jobs, "web", Pages(lambda: None))
    synced: list[tuple[int, int]] = []

    def fsync(descriptor: int) -> None:
        found = os.fstat(descriptor).st_ino
        synced.append((found, len(list((out / "a" / "001").glob("*.png")))))

    monkeypatch.setattr(os, "fsync", fsync)
    with tenure.open(f"sqlite:///{tmp_path}/jobs.db") as queue:
        ctx = held(queue, 1)
        synced.clear()
        assert jobs.save_pages(ctx, jobs.SyncChapterContent("a", 1)) == ["a/001/1.png", "a/001/2.png"]
    folders = [out / "a" / "001", out / "a", out, tmp_path]
    assert {(folder.stat().st_ino, 2) for folder in folders} <= set(synced)


def test_two_holders_of_a_chapter_leave_each_other_alone_but_for_what_the_earlier_one_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "manga" / "a" / "001"
    monkeypatch.setattr(jobs, "OUT", tmp_path / "manga")
    left: list[list[str]] = []
    monkeypatch.setattr(
        jobs, "web", Pages(lambda: left.append(sorted(f.name for f in folder.glob("*.part"))))
    )
    with tenure.open(f"sqlite:///{tmp_path}/jobs.db") as queue:
        folder.mkdir(parents=True)
        ctx = held(queue, 1)
        job = ctx.claim.id
        theirs = [f"1.png.{job}-2.part", "1.png.01890000-0000-7000-8000-000000000001-1.part"]
        for name in (*theirs, f"1.png.{job}-1.part"):
            (folder / name).touch()
        jobs.save_pages(ctx, jobs.SyncChapterContent("a", 1))
    assert left == [sorted(theirs)] * 2
    assert sorted(f.name for f in folder.iterdir()) == sorted([*theirs, "1.png", "2.png"])


def test_an_expired_login_burns_no_attempt(url: str, out: Path) -> None:
    with Site(session=15) as site:
        crawl(url, out, site)
        assert site.logins > 5
        assert site.refused >= site.logins
    assert {(job.state, job.attempt) for job in jobs_in(url)} == {(tenure.State.DONE, 1)}
    assert files_in(out) == files_of(edition(1))


def test_a_crawler_that_is_asked_to_stop_leaves_nothing_running_and_goes_on_later(
    url: str, out: Path
) -> None:
    with Site() as site:
        site.hold(after=20)
        crawler = start(url, out, site)
        wait_for(crawler, lambda: len(list(out.glob("*/*/*.png"))) == 20)
        crawler.send_signal(signal.SIGINT)
        site.let_go()
        assert end(crawler)[0] == 130
        assert {job.state for job in jobs_in(url)} == {tenure.State.READY, tenure.State.DONE}
        crawl(url, out, site)
    assert files_in(out) == files_of(edition(1))


def test_a_crawler_whose_output_nobody_reads_any_more_stops_in_good_order(url: str, out: Path) -> None:
    with Site() as site:
        crawler = start(url, out, site)
        assert crawler.stdout is not None
        crawler.stdout.readline()
        crawler.stdout.close()
        crawler.stdout = None
        code, told = end(crawler)
    assert (code, told) == (130, "")
    assert tenure.State.RUNNING not in {job.state for job in jobs_in(url)}


def test_what_is_in_flight_is_not_enqueued_again(url: str, out: Path) -> None:
    with Site() as site:
        site.hold(after=0)
        crawlers = [start(url, out, site)]
        wait_for(crawlers[0], lambda: done(url, "sync_chapter_list") == len(MANGA))
        crawlers.append(start(url, out, site))
        wait_for(crawlers[1], lambda: done(url, "sync_chapter_list") == 2 * len(MANGA))
        site.let_go()
        assert [end(crawler)[0] for crawler in crawlers] == [0, 0]
    assert done(url, "sync_chapter_content") == len(edition(1))


@pytest.mark.parametrize(
    "step",
    [jobs.Discover(), jobs.SyncManga("a"), jobs.SyncChapterList("a"), jobs.SyncChapterContent("a", 1)],
    ids=str,
)
def test_every_step_is_in_flight_at_most_once(step: jobs.Step, tmp_path: Path) -> None:
    with tenure.open(f"sqlite:///{tmp_path}/jobs.db") as queue:
        made = queue.enqueue_many([jobs.job_for(step)] * 2)
    assert [job.inserted for job in made] == [True, False]


def test_what_died_in_an_earlier_crawl_is_no_fault_of_this_one(url: str, out: Path) -> None:
    with Site(edition=1) as site:
        crawl(url, out, site)
        with tenure.open(url) as queue:
            queue.enqueue("died", queue=jobs.QUEUES[0])
            [claim] = queue.claim(kinds=["died"])
            assert queue.settle(claim, tenure.Bury("long ago"))
        crawl(url, out, site)


def test_the_crawler_as_people_run_it_draws_a_picture_and_has_every_page_in_the_end(tmp_path: Path) -> None:
    """In a terminal, with its own site, and in the folder where it is run."""
    ours, theirs = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TENURE_URL")}
    crawler = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "examples.crawler", "--fresh"],
        cwd=tmp_path,
        env={**plain, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    told = b""
    with contextlib.suppress(OSError):  # how a terminal says that nobody is there any more
        while said := os.read(ours, 65_536):
            told += said
    os.close(ours)
    words = told.decode()
    assert crawler.wait(100) == 0, words
    assert "\033[32m██" in words
    assert f"{PAGES * len(edition(1))} on disk" in words
    assert f"{len(MANGA)} manga, {len(edition(1))} chapters (0 dropped)" in words
    assert (tmp_path / "crawler.db").exists()
    assert files_in(tmp_path / "manga") == files_of(edition(1))


def test_new_chapters_are_fetched_and_vanished_ones_are_kept_and_dropped(url: str, out: Path) -> None:
    with Site() as site:
        crawl(url, out, site)
        assert dropped(url) == set()
        site.edition = 2
        crawl(url, out, site)
        assert dropped(url) == edition(1) - edition(2) != set()
        fetched = [j.payload["step"] for j in jobs_in(url) if j.kind == "sync_chapter_content"]
        assert len(fetched) == len(edition(1) | edition(2))
        assert {(step["manga"], step["chapter"]) for step in fetched} == edition(1) | edition(2)
        assert files_in(out) == files_of(edition(1) | edition(2))
        site.edition = 1
        crawl(url, out, site)
        assert dropped(url) == edition(2) - edition(1) != set()
        assert {n for path, n in site.requests.items() if path.startswith("/image/")} == {1}


def test_a_chapter_that_vanishes_before_it_was_fetched_is_dropped(url: str, out: Path) -> None:
    lists = [f"/manga/{slug}/chapters" for slug in MANGA]
    with Site() as site:
        site.hold(after=0)
        crawler = start(url, out, site)
        wait_for(crawler, lambda: all(site.requests[path] for path in lists))
        site.edition = 2
        site.let_go()
        code, told = end(crawler)
    assert code == 0, told
    assert dropped(url) == edition(1) - edition(2)
    assert files_in(out).items() >= files_of(edition(1) & edition(2)).items()
    assert {job.state for job in jobs_in(url)} == {tenure.State.DONE}


def test_a_fresh_crawl_forgets_the_jobs_the_records_and_the_pages_and_nothing_else(
    url: str, out: Path
) -> None:
    with Site() as site:
        crawl(url, out, site)
        first = {job.id for job in jobs_in(url)}
        (out / "notes.txt").write_bytes(b"not the crawler's")
        crawl(url, out, site, "--fresh")
        assert {n for path, n in site.requests.items() if path.startswith("/image/")} == {2}
    assert first & {job.id for job in jobs_in(url)} == set()
    assert files_in(out) == files_of(edition(1)) | {"notes.txt": b"not the crawler's"}
