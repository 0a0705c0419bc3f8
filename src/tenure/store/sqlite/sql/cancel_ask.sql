-- cancel_ask: a running job is asked to stop; its worker sees it at the next renew.
UPDATE tenure_jobs SET cancel_at = :now, reason = :reason WHERE id = :id AND state = 'running' AND cancel_at IS NULL
