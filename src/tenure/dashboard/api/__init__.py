"""The JSON behind the page: one module for each page, one function for each address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from tenure.dashboard.api.act import act
from tenure.dashboard.api.acts import acts
from tenure.dashboard.api.audit import audit
from tenure.dashboard.api.chain import chain
from tenure.dashboard.api.cron import cron
from tenure.dashboard.api.errors import errors
from tenure.dashboard.api.flow import flow
from tenure.dashboard.api.job import job
from tenure.dashboard.api.jobs import complete, jobs
from tenure.dashboard.api.me import me
from tenure.dashboard.api.overview import overview
from tenure.dashboard.api.queues import queues
from tenure.dashboard.api.system import system
from tenure.dashboard.api.undos import undos
from tenure.dashboard.api.webhooks import webhooks
from tenure.dashboard.api.workers import workers
from tenure.dashboard.desk import Asked

__all__ = ["ACTIONS", "PAGES", "Page"]

Page = Callable[[Asked], Awaitable[Any]]
PAGES: Final[Mapping[str, Page]] = {
    "/api/me": me,
    "/api/acts/{name}": acts,
    "/api/undos": undos,
    "/api/overview": overview,
    "/api/jobs": jobs,
    "/api/complete": complete,
    "/api/jobs/{id}": job,
    "/api/flow/{flow:path}": flow,
    "/api/chain/{id}": chain,
    "/api/errors": errors,
    "/api/queues": queues,
    "/api/workers": workers,
    "/api/cron": cron,
    "/api/webhooks": webhooks,
    "/api/system": system,
    "/api/audit": audit,
}
"""What is only looked at."""
ACTIONS: Final[Mapping[str, Page]] = {"/api/act": act}
"""What changes something."""
