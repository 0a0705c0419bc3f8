-- group_locks: which of the groups this transaction may decide about now; the locks are held until it ends.
-- Only on postgres: a SQLite transaction is alone anyway. A transaction that sees an old snapshot must not decide.
SELECT g.group_key,
       current_setting('transaction_isolation') IN ('read committed', 'read uncommitted')
       AND pg_try_advisory_xact_lock(hashtext('tenure.groups'), hashtext(g.group_key) & 2047) AS locked
FROM json_to_recordset(:groups::text::json) AS g(group_key text)
