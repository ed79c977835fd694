-- The role of the web, worker, jobs and beat processes: reads and writes rows, owns nothing, and cannot change tables,
-- truncate them, disable their triggers, or alter an event. Migrations run as the owner of the tables.
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

-- Events are evidence. A trigger refuses to delete them, too, unless the transaction says that it erases.
REVOKE UPDATE ON sessions_app_event FROM site_web;
-- So are the records of erasures and of acts of staff. Django's tables of the schema change with migrations only.
REVOKE DELETE ON sessions_app_tombstone FROM site_web;
REVOKE UPDATE, DELETE ON sessions_app_staffact FROM site_web;
-- The housekeeping deletes old records of what staff read.
REVOKE UPDATE ON sessions_app_staffaccess FROM site_web;
REVOKE INSERT, UPDATE, DELETE ON django_migrations, django_content_type, auth_permission FROM site_web;

COMMIT;
