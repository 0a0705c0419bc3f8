-- crashes: how many crashes, of how many jobs, since :age ago, and the last; looks at no more than :look attempts.
SELECT count(*) AS crashes, count(DISTINCT a.job_id) AS jobs, max(a.finished_at) AS last
FROM (SELECT job_id, error_kind, finished_at FROM tenure_attempts ORDER BY job_id DESC LIMIT :look) a
WHERE a.error_kind = 'Crash' AND a.finished_at > :now - :age
