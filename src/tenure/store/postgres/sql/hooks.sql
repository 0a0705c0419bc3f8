-- hooks: every hook.
SELECT kind, hook, queue, priority, max_attempts FROM tenure.hooks ORDER BY kind, hook
