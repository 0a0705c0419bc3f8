-- pardon: lowers the crashes of jobs that are not finished.
WITH held AS MATERIALIZED (
    SELECT j.id, r.less FROM json_to_recordset(:rows::text::json) AS r(id uuid, less integer)
    JOIN tenure.jobs j ON j.id = r.id ORDER BY j.id FOR UPDATE OF j
)
UPDATE tenure.jobs j SET crashes = greatest(j.crashes - held.less, 0)
FROM held WHERE j.id = held.id
RETURNING j.id::text AS id
