"""The app that `make bench-worker` runs in processes of its own."""

from __future__ import annotations

import os

from bench.worker import make_app

app = make_app(os.environ["BENCH_URL"])
