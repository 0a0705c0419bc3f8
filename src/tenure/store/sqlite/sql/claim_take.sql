-- claim_take: the second half of claim, in the same transaction.
-- Only on sqlite: see claim.
UPDATE tenure_jobs
SET state = 'running', attempt = attempt + 1, epoch = epoch + 1, lease_until = :now + :lease, worker = :worker,
    started_at = :now, doubt = CASE WHEN :started THEN NULL WHEN doubt = 2 THEN 2 ELSE 1 END, progress = NULL, progress_note = NULL
WHERE seq IN (SELECT value FROM json_each(:seqs))
