-- find_finished: whether a job has finished, and how.
SELECT state FROM tenure.finished WHERE id = :id::uuid FOR UPDATE
