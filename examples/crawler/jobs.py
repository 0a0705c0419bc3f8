"""The crawl: four steps, each a kind of job that enqueues the next.

    Discover ─▶ SyncManga ─▶ SyncChapterList ─▶ SyncChapterContent

Every handler may run twice (a worker may be killed at any line), so every handler is idempotent: what is in flight is not
enqueued again, what is on disk is not fetched again, and a chapter's records change in the transaction that ends its job.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, assert_never

from msgspec import Struct

import tenure
from examples.crawler import store
from examples.crawler.web import Gone, LoggedOut, Web

__all__ = ["QUEUES", "Discover", "Step", "app", "job_for"]

# From the environment, so that every process of the worker finds the same place.
URL = store.completed(os.environ.get("TENURE_URL", "sqlite:///crawler.db"))
OUT = Path(os.environ.get("CRAWLER_OUT", "manga"))

app = tenure.App(URL)
web = Web(os.environ.get("CRAWLER_SITE", "http://127.0.0.1:8000"))
retry = tenure.Exponential(first="1s", cap="1m")
QUEUES = ("discover", "manga", "chapters", "content")


class Discover(Struct, frozen=True, tag=True):
    """See which manga the site has."""


class SyncManga(Struct, frozen=True, tag=True):
    """Read about one of them."""

    manga: str


class SyncChapterList(Struct, frozen=True, tag=True):
    """See which chapters it has."""

    manga: str


class SyncChapterContent(Struct, frozen=True, tag=True):
    """Fetch the pages of one chapter."""

    manga: str
    chapter: int


Step = Discover | SyncManga | SyncChapterList | SyncChapterContent


def job_for(step: Step) -> tenure.NewJob:
    """A step as a job: who handles it, and under which key it is in flight at most once."""
    match step:
        case Discover():
            return discover.options(unique="site").call(step)
        case SyncManga(manga):
            return sync_manga.options(unique=manga).call(step)
        case SyncChapterList(manga):
            return sync_chapter_list.options(unique=manga).call(step)
        case SyncChapterContent(manga, chapter):
            return sync_chapter_content.options(unique=f"{manga}/{chapter}").call(step)
        case _:
            assert_never(step)


@app.middleware
async def logged_in(_: tenure.Context, call: Callable[[], Awaitable[Any]]) -> Any:
    """Around every handler: an expired session is nobody's failure, so the job goes back and burns no attempt."""
    try:
        return await call()
    except LoggedOut as error:
        await asyncio.to_thread(web.log_in, error.session)
        raise tenure.Release from None


@app.job(queue="discover", retry=retry)
def discover(_: Discover) -> int:
    found = web.json("/")["manga"]
    app.enqueue_many(job_for(SyncManga(manga)) for manga in found)
    return len(found)


@app.job(queue="manga", retry=retry)
def sync_manga(step: SyncManga) -> None:
    title = web.json(f"/manga/{step.manga}")["title"]
    with store.transaction(URL) as db:
        db.add_manga(step.manga, title)
        app.using(db.connection).enqueue(job_for(SyncChapterList(step.manga)))


@app.job(queue="chapters", retry=retry)
def sync_chapter_list(ctx: tenure.Context, step: SyncChapterList) -> None:
    listed = web.json(f"/manga/{step.manga}/chapters")["chapters"]
    # The records, the jobs that follow from them and the end of this one: all of it, or nothing.
    with store.transaction(URL) as db:
        wanted = db.list_chapters(step.manga, listed)
        app.using(db.connection).enqueue_many(job_for(SyncChapterContent(step.manga, n)) for n in wanted)
        ctx.claim.settle_in(db.connection, tenure.Done({"wanted": len(wanted)}))


@app.job(queue="content", retry=retry)
def sync_chapter_content(ctx: tenure.Context, step: SyncChapterContent) -> None:
    try:
        files = save_pages(ctx, step)
    except Gone:
        with store.transaction(URL) as db:
            db.drop_chapter(step.manga, step.chapter)
        return
    with store.transaction(URL) as db:
        db.save_chapter(step.manga, step.chapter, files)
        ctx.claim.settle_in(db.connection, tenure.Done({"pages": len(files)}))


def save_pages(ctx: tenure.Context, step: SyncChapterContent) -> list[str]:
    """Fetch the pages that are not on disk yet; all of the chapter's files, which outlast a power cut from now on."""
    pages = web.json(f"/manga/{step.manga}/{step.chapter}")["pages"]
    folder = OUT / step.manga / f"{step.chapter:03}"
    folder.mkdir(parents=True, exist_ok=True)
    claim = ctx.claim
    for left in folder.glob(
        f"*.{claim.id}-*.part"
    ):  # by a worker that held this job before, and was killed or too slow
        if int(left.stem.rpartition("-")[2]) <= claim.epoch:
            left.unlink(missing_ok=True)
    files = [folder / page.rpartition("/")[2] for page in pages]
    for n, (page, file) in enumerate(zip(pages, files, strict=True)):
        ctx.check()  # was the job cancelled, or taken away?
        if not file.exists():
            write(file, web.get(page), file.with_name(f"{file.name}.{claim.id}-{claim.epoch}.part"))
        ctx.progress((n + 1) / len(pages), file.name)
    for changed in (folder, folder.parent, OUT, OUT.parent):
        keep_names(changed)
    return [str(file.relative_to(OUT)) for file in files]


def write(file: Path, content: bytes, part: Path) -> None:
    """The file is there whole, or not at all; nobody else writes to `part`."""
    with part.open("wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    part.replace(file)


def keep_names(folder: Path) -> None:
    """A file that is on disk is found there only once its folder is on disk, too."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
