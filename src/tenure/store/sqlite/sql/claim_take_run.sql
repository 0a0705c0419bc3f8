-- claim_take_run: claim_take for jobs that stand side by side, as most batches do.
-- Only on sqlite: see claim.
UPDATE tenure_jobs
SET state = 'running', attempt = attempt + 1, epoch = epoch + 1, lease_until = :now + :lease, worker = :worker,
    started_at = CASE WHEN :started THEN :now END, progress = NULL, progress_note = NULL
WHERE seq BETWEEN :low AND :high
