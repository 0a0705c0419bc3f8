-- hooks: every hook.
SELECT kind, hook, queue, priority, max_attempts FROM tenure_hooks ORDER BY kind, hook
