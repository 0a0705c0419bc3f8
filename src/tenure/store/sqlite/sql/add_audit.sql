-- add_audit: keeps that somebody did something, once.
INSERT INTO tenure_audit (id, at, who, action, what, count, said)
VALUES (:id, :now, :who, :action, :what, :count, :said)
ON CONFLICT (id) DO NOTHING
