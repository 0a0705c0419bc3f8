-- find_pending: locks a job that has not finished, and tells what cancelling it means.
SELECT j.id::text AS id, j.seq, j.epoch, j.state, j.group_key, tenure.micros(:now::bigint) AS now
FROM tenure.jobs j WHERE j.id = :id::uuid FOR UPDATE OF j
