-- find_finished: whether a job has finished, and how.
SELECT state FROM tenure_jobs WHERE id = :id AND finished_at IS NOT NULL
