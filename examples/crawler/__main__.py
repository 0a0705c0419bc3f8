"""Crawl the site until everything it has is on disk. Ctrl-C stops in good order; run it again to go on."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import tenure
from examples.crawler import screen, store
from examples.crawler.site import Site


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.crawler", description=__doc__)
    add = parser.add_argument
    add("--url", default="sqlite:///crawler.db", help="where the queue and the records are (%(default)s)")
    add("--out", type=Path, default=Path("manga"), help="where the pages go (%(default)s)")
    add("--fresh", action="store_true", help="first delete the database file (or schema) and the pages")
    add("--plain", action="store_true", help="lines instead of a picture")
    add("--edition", type=int, default=1, help="of the site; from 2 on, chapters are new and have vanished")
    add("--site", help="crawl the site that is served here, instead of an own one")
    args = parser.parse_args()
    url = store.completed(args.url)
    if args.fresh:
        for manga in store.forget(url):
            shutil.rmtree(args.out / manga, ignore_errors=True)
    store.prepare(url)
    if args.site:
        return crawl(url, args.out, args.site, plain=args.plain)
    with Site(edition=args.edition, delay=0.05) as own:
        return crawl(url, args.out, own.url, plain=args.plain)


def crawl(url: str, out: Path, site: str, *, plain: bool) -> int:
    """Enqueue the first step and work until the last one is done."""
    os.environ.update(TENURE_URL=url, CRAWLER_OUT=str(out.resolve()), CRAWLER_SITE=site)
    from examples.crawler.jobs import QUEUES, Discover, app, job_for

    dead_ones = tenure.Filter(states=["dead"], queues=QUEUES)
    died_before = {job.id for job in app.queue.list(dead_ones, limit=1_000)}
    app.enqueue(job_for(Discover()))
    began, stop, finished = time.monotonic(), threading.Event(), threading.Event()

    def draw() -> None:
        try:
            if screen.watch(app.queue, QUEUES, out, stop, plain=plain):
                finished.set()
        except BrokenPipeError:  # nobody looks any more: `| head -1`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        finally:
            if not stop.is_set():
                os.kill(os.getpid(), signal.SIGTERM)  # as an operator would: the worker stops in good order

    drawing = threading.Thread(target=draw)
    drawing.start()
    try:
        app.run(queues=["content:6", "*:2"])
    finally:
        stop.set()
        drawing.join()
    dead = [job for job in app.queue.list(dead_ones, limit=1_000) if job.id not in died_before]
    app.close()
    if not finished.is_set():
        print("stopped; run it again to go on")
        return 130
    tell(url, out, time.monotonic() - began)
    for job in dead:
        print(f"dead: {job.kind} {job.payload_text}: {job.error}", file=sys.stderr)
    return 1 if dead else 0


def tell(url: str, out: Path, seconds: float) -> None:
    """What came of it."""
    with store.transaction(url) as db:
        chapters, dropped = db.count("chapters"), db.count("chapters WHERE dropped")
        print(
            f"{db.count('manga')} manga, {chapters} chapters ({dropped} dropped), {db.count('pages')} pages"
        )
    print(f"{screen.pages_on_disk(out)} files in {out}, after {seconds:.1f} s")


if __name__ == "__main__":
    raise SystemExit(main())
