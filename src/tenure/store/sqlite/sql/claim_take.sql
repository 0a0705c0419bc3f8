-- claim_take: the second half of claim, in the same transaction.
-- Only on sqlite: see claim.
UPDATE tenure_jobs
SET state = 'running', attempt = attempt + 1, epoch = epoch + 1, lease_until = :now + :lease, worker = :worker,
    started_at = CASE WHEN :started THEN :now END, progress = NULL, progress_note = NULL
WHERE seq IN (SELECT value FROM json_each(:seqs))
