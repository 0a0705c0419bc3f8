-- cancel_ask: a running job is asked to stop; its worker sees it at the next renew.
UPDATE tenure.jobs SET cancel_at = tenure.micros(:now::bigint), reason = :reason::text
WHERE id = :id::uuid AND state = 'running' AND cancel_at IS NULL
