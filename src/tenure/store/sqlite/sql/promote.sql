-- promote: due jobs become ready, or waiting where their group decides; tells which of them wait.
UPDATE tenure_jobs SET state = CASE WHEN group_key IS NULL OR held IS NOT NULL THEN 'ready' ELSE 'waiting' END
WHERE seq IN (
    SELECT j.seq FROM tenure_jobs j
    WHERE j.state = 'scheduled' AND j.run_at <= :now AND j.run_at >= :after AND (j.expires_at IS NULL OR j.expires_at > :now)
    ORDER BY j.run_at LIMIT :limit)
RETURNING CASE WHEN state = 'waiting' THEN group_key END AS group_key
