-- claim_take_run: claim_take for jobs that stand side by side, as most batches do.
-- Only on sqlite: see claim.
UPDATE tenure_jobs
SET state = 'running', attempt = attempt + 1, epoch = epoch + 1, lease_until = :now + :lease, worker = :worker,
    started_at = :now, doubt = CASE WHEN :started THEN NULL WHEN doubt = 2 THEN 2 ELSE 1 END, progress = NULL, progress_note = NULL
WHERE seq BETWEEN :low AND :high
