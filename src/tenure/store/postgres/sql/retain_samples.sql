-- retain_samples: forgets how the queues stood in minutes that are older than this.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
DELETE FROM tenure.samples WHERE minute < (SELECT now FROM n) / 60000000 - :age::bigint
