-- The role of the web, worker, jobs and beat processes: reads and writes rows, owns nothing, and cannot change tables,
-- truncate them, disable their triggers, or alter or delete evidence. Migrations run as the owner of the tables.
-- Run by the owner after each migration, with psql 15 or newer; safe to repeat:
--   export PGPASSWORD=... POSTGRES_WEB_PASSWORD=...
--   psql --host db.example.org --username site --dbname site --file deploy/roles.sql
-- The owner needs CREATEROLE: a superuser runs `ALTER ROLE site CREATEROLE` once.
\set ON_ERROR_STOP on
-- From the environment, because all users of a machine can read the arguments of processes.
\getenv password POSTGRES_WEB_PASSWORD
\if :{?password}
\else
    DO $$ BEGIN RAISE 'Set POSTGRES_WEB_PASSWORD to a password for the role site_web.'; END $$;
\endif
BEGIN;

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = current_user AND (rolcreaterole OR rolsuper)) THEN
        RAISE 'The role % may not create roles. As a superuser, run: ALTER ROLE % CREATEROLE',
            current_user, quote_ident(current_user);
    END IF;
END $$;
SELECT 'CREATE ROLE site_web LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE'
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'site_web') \gexec
ALTER ROLE site_web PASSWORD :'password';

REVOKE ALL ON ALL TABLES IN SCHEMA public FROM site_web, PUBLIC;
REVOKE CREATE ON SCHEMA public FROM site_web, PUBLIC;
GRANT USAGE ON SCHEMA public TO site_web;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO site_web;

-- Temporary tables could hide others.
SELECT format('REVOKE TEMPORARY, CREATE ON DATABASE %I FROM PUBLIC, site_web', current_database()) \gexec

-- Evidence: the role inserts rows, with the keys that the database gives them, and changes only what the site changes.
-- Functions of the database delete evidence: see erasing.sql and packs.sql in sessions_app/migrations/.
CREATE TEMPORARY TABLE evidence (name text, changed text[]) ON COMMIT DROP;
INSERT INTO evidence VALUES
    ('event', '{}'), ('sessionact', '{}'), ('staffact', '{}'), ('accountact', '{}'), ('staffaccess', '{}'),
    ('actrequest', '{}'), ('actrequeststep', '{}'), ('casefile', '{}'), ('caseitem', '{}'), ('caseentry', '{}'),
    ('tombstone', '{counts, finished_at, by_id}'),
    ('legalhold', '{lifted_at, lifted_by_id, lifted_by_name, lift_reason, set_by_id}'),
    ('invocation', '{client_id, status, owner, attempts, past_attempts, credentials, error_code, error_message, error_detail,
        agent_version, cancel_requested_at, cancelled_by_id, cancelled_by_name, cancel_reason, started_at, finished_at}');
SELECT format('REVOKE INSERT, UPDATE, DELETE ON %I FROM site_web', 'sessions_app_' || name) FROM evidence \gexec
SELECT format('GRANT INSERT (%s) ON %I TO site_web', string_agg(quote_ident(column_name), ', '), table_name)
FROM evidence JOIN information_schema.columns ON table_schema = 'public' AND table_name = 'sessions_app_' || name
WHERE column_name <> 'id' AND is_generated = 'NEVER' GROUP BY table_name \gexec
SELECT format('GRANT UPDATE (%s) ON %I TO site_web', array_to_string(changed, ', '), 'sessions_app_' || name)
FROM evidence WHERE changed <> '{}' \gexec
REVOKE INSERT, UPDATE, DELETE ON sessions_app_erasedsession, sessions_app_recordedend FROM site_web;
REVOKE UPDATE ON sessions_app_artifact FROM site_web;
REVOKE INSERT, UPDATE, DELETE ON sessions_app_pack FROM site_web;
GRANT EXECUTE ON FUNCTION adk_erase_session, adk_erase_account, adk_delete_accesses, adk_pack_session, adk_open_pack
    TO site_web;

-- App, owner, key, first state and old hash of a session never change. Functions of the database note its pack.
REVOKE UPDATE ON sessions_app_session FROM site_web;
SELECT format('GRANT UPDATE (%s) ON sessions_app_session TO site_web', string_agg(quote_ident(column_name), ', '))
FROM information_schema.columns
WHERE table_schema = 'public' AND table_name = 'sessions_app_session'
    AND column_name NOT IN ('id', 'app_name', 'user_id', 'key', 'initial_state', 'log_hash', 'packed_at') \gexec

-- Django's tables of the schema change with migrations only.
REVOKE INSERT, UPDATE, DELETE ON django_migrations, django_content_type, auth_permission FROM site_web;

COMMIT;
