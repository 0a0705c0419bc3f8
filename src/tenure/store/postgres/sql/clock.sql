-- clock: the store's time.
SELECT tenure.micros(:now::bigint) AS now
