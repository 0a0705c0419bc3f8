"""The verbs that take a filter and look: list and count, and cancel_many, discard, restore and unreplay, which act
on what they find."""

from __future__ import annotations

from tenure.client.arguments import MAX_LIMIT, filter_of, limit_of, reason_of
from tenure.client.call import Call
from tenure.filters import Filter
from tenure.newjob import check_id, check_whole
from tenure.store import people, search
from tenure.store.dialect import Capabilities
from tenure.store.people import Bulk, Cancels, Changed
from tenure.store.search import Counted, Page

__all__ = ["FilterVerbs"]

_MOST = 100_000
_FAR = 1_000_000_000


class FilterVerbs:
    """What can be done with the jobs a filter means."""

    _can: Capabilities

    def _now(self) -> int | None:
        raise NotImplementedError

    def list(
        self,
        which: Filter | None = None,
        *,
        limit: int = 100,
        before: str | None = None,
        look: int | None = None,
    ) -> Call[Page]:
        """Jobs that match, newest first: a list with `before`, where the next page begins, or None at the end.

        It looks at as many jobs as it takes, a stretch at a time; with `look` at about that many, and then the page may
        be short, or empty, and yet not the last.
        """
        found, limit, now = Filter() if which is None else filter_of(which), limit_of(limit), self._now()
        start, far = None if before is None else check_id(before, "before"), _far(look)
        return Call(
            lambda _: search.list_jobs(found, limit=limit, before=start, look=far, now=now), reads=True
        )

    def count(
        self,
        which: Filter | None = None,
        *,
        cap: int = MAX_LIMIT,
        look: int | None = None,
        after: str | None = None,
    ) -> Call[Counted]:
        """How many jobs match, by state; `more` says that there may be more, beyond `cap` or what it was to `look` at.

        With `after` only those that a call on many jobs would go on with from there.
        """
        found, far, now = Filter() if which is None else filter_of(which), _far(look), self._now()
        most, start = check_whole(cap, "cap", 1, _MOST), None if after is None else check_id(after, "after")
        return Call(lambda _: search.count(found, cap=most, look=far, now=now, start=start), reads=True)

    def cancel_many(
        self, which: Filter, reason: str = "cancelled", *, limit: int = 1_000, after: str | None = None
    ) -> Call[Cancels]:
        """Cancel pending jobs that match, ask running ones, at most `limit` a call; go on with `after` of the answer."""
        which, limit, now = filter_of(which), limit_of(limit), self._now()
        start, why = None if after is None else check_id(after, "after"), reason_of(reason)
        return Call(lambda _: people.cancel_many(which, why, self._can, limit=limit, after=start, now=now))

    def discard(self, which: Filter, *, limit: int = 1_000, after: str | None = None) -> Call[Changed]:
        """Give up dead jobs that match: they end as cancelled and go when such jobs go; until then `restore` undoes it.

        At most `limit` a call; go on with `after` of the answer until it is None. `ids` of the answer are those that were.
        """
        which, limit, now = filter_of(which), limit_of(limit), self._now()
        start = None if after is None else check_id(after, "after")
        return Call(
            lambda _: people.discard(which, limit=limit, after=start, now=now),
            repeatable=False,  # what a try whose answer was lost has discarded is found no more: nobody would be told of it
        )

    def restore(self, which: Filter, *, limit: int = 1_000, after: str | None = None) -> Call[Bulk]:
        """Make jobs that match and were discarded dead again, as they were; at most `limit` a call, go on with `after`."""
        which, limit, now = filter_of(which), limit_of(limit), self._now()
        start = None if after is None else check_id(after, "after")
        return Call(lambda _: people.restore(which, limit=limit, after=start, now=now))

    def unreplay(self, which: Filter, *, limit: int = 1_000, after: str | None = None) -> Call[Bulk]:
        """Make jobs that match, were replayed and not claimed since, finished again, as they were before.

        At most `limit` a call; go on with `after` of the answer until it is None. `conflicts` are those that match and have not
        finished, but were claimed since, or never replayed.
        """
        which, limit, now = filter_of(which), limit_of(limit), self._now()
        start = None if after is None else check_id(after, "after")
        return Call(lambda _: people.unreplay(which, self._can, limit=limit, after=start, now=now))


def _far(look: int | None) -> int | None:
    return None if look is None else check_whole(look, "look", 1, _FAR)
