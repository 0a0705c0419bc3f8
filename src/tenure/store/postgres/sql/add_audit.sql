-- add_audit: keeps that somebody did something, once.
INSERT INTO tenure.audit (id, at, who, action, what, count, said)
VALUES (:id::uuid, tenure.micros(:now::bigint), :who::text, :action::text, :what::text, :count::bigint, :said::text)
ON CONFLICT (id) DO NOTHING
