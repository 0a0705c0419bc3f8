-- promote: due jobs become ready, or waiting where their group decides; tells which of them wait.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now),
due AS MATERIALIZED (
    SELECT j.id FROM tenure.jobs j
    WHERE j.state = 'scheduled' AND j.run_at <= (SELECT now FROM n) AND j.run_at >= :after::bigint
      AND (j.expires_at IS NULL OR j.expires_at > (SELECT now FROM n))
    ORDER BY j.run_at LIMIT :limit::integer FOR UPDATE OF j SKIP LOCKED
)
UPDATE tenure.jobs j SET state = CASE WHEN j.group_key IS NULL OR j.held THEN 'ready' ELSE 'waiting' END
WHERE j.id = ANY (ARRAY(SELECT id FROM due))
RETURNING CASE WHEN j.state = 'waiting' THEN j.group_key END AS group_key
