-- Roles of least privilege for one schema of Tenure: who enqueues, who works, who looks on, who migrates.
--
--     psql -f roles.sql "postgresql://admin@host/db"           makes the roles, and a schema that the migrator owns
--     tenure migrate --url "postgresql://migrator@host/db"         makes the tables
--     psql -f roles.sql "postgresql://admin@host/db"           gives each role what it needs
--
-- Run it again after every upgrade. -v schema=tenure names the schema; -v producer=, -v worker=, -v viewer= and -v migrator=
-- name the roles (tenure_producer, …). They cannot log in: GRANT tenure_worker TO somebody who can. Who runs this is a
-- superuser, or owns the database and may make roles. docs/postgres-roles.md tells what each may and may not do.
\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;
\if :{?schema}
\else
  \set schema tenure
\endif
\if :{?producer}
\else
  \set producer tenure_producer
\endif
\if :{?worker}
\else
  \set worker tenure_worker
\endif
\if :{?viewer}
\else
  \set viewer tenure_viewer
\endif
\if :{?migrator}
\else
  \set migrator tenure_migrator
\endif

BEGIN;
SELECT format('CREATE ROLE %I NOLOGIN', r.name)
FROM unnest(ARRAY[:'producer', :'worker', :'viewer', :'migrator']) AS r(name)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r.name) \gexec

-- What the schema holds belongs to the migrator, whoever made it.
SELECT format('CREATE SCHEMA %I', :'schema') WHERE to_regnamespace(quote_ident(:'schema')) IS NULL \gexec
ALTER SCHEMA :"schema" OWNER TO :"migrator";
SELECT format('ALTER %s %s OWNER TO %I', CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, c.oid::regclass, :'migrator')
FROM pg_class c
WHERE c.relnamespace = quote_ident(:'schema')::regnamespace AND c.relkind IN ('r', 'v')
  AND c.relowner <> quote_ident(:'migrator')::regrole \gexec
SELECT format('ALTER FUNCTION %s OWNER TO %I', p.oid::regprocedure, :'migrator')
FROM pg_proc p
WHERE p.pronamespace = quote_ident(:'schema')::regnamespace AND p.proowner <> quote_ident(:'migrator')::regrole \gexec

-- Tables that a later migration brings are of use at once; run this again to give no more than is needed.
ALTER DEFAULT PRIVILEGES FOR ROLE :"migrator" IN SCHEMA :"schema" GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO :"worker";
ALTER DEFAULT PRIVILEGES FOR ROLE :"migrator" IN SCHEMA :"schema" GRANT SELECT ON TABLES TO :"viewer";
GRANT USAGE ON SCHEMA :"schema" TO :"producer", :"worker", :"viewer";

SELECT to_regclass(format('%I.jobs', :'schema')) IS NOT NULL AS made \gset
\if :made
SET LOCAL search_path = :"schema";
REVOKE ALL ON ALL TABLES IN SCHEMA :"schema" FROM :"producer", :"worker", :"viewer";

-- Everybody knows how far the schema is, and nobody but the migrator changes that.
GRANT SELECT ON meta TO :"producer", :"worker";

-- Enqueues, and sees what became of it.
GRANT SELECT, INSERT ON jobs TO :"producer";
GRANT SELECT ON finished, sleepers TO :"producer";
GRANT SELECT, INSERT, UPDATE ON ledger TO :"producer";      -- unique keys for a period
GRANT INSERT ON requests TO :"producer";
GRANT INSERT ON wakes TO :"producer";                       -- groups
GRANT UPDATE (state, held) ON jobs TO :"producer";          -- groups

-- Works: workers, the janitor, the gateway, and people who act. What was done by people is never changed.
GRANT SELECT, INSERT, UPDATE, DELETE
    ON jobs, finished, attempts, ledger, sleepers, workers, schedules, hooks, notes, rollups, error_groups TO :"worker";
GRANT SELECT, INSERT, DELETE ON requests, samples, wakes TO :"worker";
GRANT SELECT, INSERT, UPDATE ON queues TO :"worker";
GRANT SELECT, INSERT ON audit TO :"worker";
GRANT SELECT ON readable TO :"worker";

-- Looks on.
GRANT SELECT ON ALL TABLES IN SCHEMA :"schema" TO :"viewer";
\endif
COMMIT;
