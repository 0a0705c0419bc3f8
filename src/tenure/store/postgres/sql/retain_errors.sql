-- retain_errors: forgets failures of hours that are older than this.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
DELETE FROM tenure.error_groups WHERE hour < (SELECT now FROM n) / 3600000000 - :age::bigint
