"""The verbs of hooks: jobs that are made when other jobs die."""

from __future__ import annotations

from tenure.client.call import Call
from tenure.dead import HookSeen
from tenure.errors import FieldError
from tenure.newjob import check_name, check_whole
from tenure.store import hooks

__all__ = ["HookVerbs"]

Hooks = list[HookSeen]


class HookVerbs:
    """What can be done with hooks."""

    def hook(
        self, kind: str, hook: str, *, queue: str = "default", priority: int = 0, max_attempts: int = 5
    ) -> Call[bool]:
        """Make a job of the kind `hook` whenever a job of `kind` dies ("*": of any kind); whether anything changed.

        It is made in the transaction of the death, once for each death, whoever notices it. Its payload is
        {"dead": …} with the fields of tenure.DeadJob, its parent the dead job. Jobs of a hook's own kind have no hooks.
        """
        if hook in (kind, hooks.ANY):
            raise FieldError("hook", "must be a kind of its own", hook, "name the kind that is to be told")
        spec = HookSeen(
            kind=check_name(kind, "kind"),
            hook=check_name(hook, "hook"),
            queue=check_name(queue, "queue"),
            priority=check_whole(priority, "priority", -32_768, 32_767),
            max_attempts=check_whole(max_attempts, "max_attempts", 1, 2_147_483_647),
        )
        return Call(lambda _: hooks.hook(spec))

    def unhook(self, kind: str, hook: str) -> Call[bool]:
        """Forget a hook; whether there was one. Jobs it made stay."""
        known, told = check_name(kind, "kind"), check_name(hook, "hook")
        return Call(lambda _: hooks.unhook(known, told))

    def hooks(self) -> Call[Hooks]:
        """Every hook, by the kind it waits for."""
        return Call(lambda _: hooks.hooks(), reads=True)
