-- isolation: what a transaction sees of what others commit meanwhile.
-- Only on postgres: a SQLite transaction that writes is alone.
SELECT current_setting('transaction_isolation') AS isolation
