-- Times and ends of evidence, which the processes of the site cannot choose.

-- Set the time of an act, an access or a request. The clock, not the begin of the transaction: it may be open for long.

CREATE OR REPLACE FUNCTION adk_set_time() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.at := clock_timestamp();
    RETURN NEW;
END $$;

-- Triggers fire by name: `set_time` of a case's items and entries comes after the lock of `add_case_item` and
-- `add_case_entry`, so the times are in the order of the commits.

DO $$ DECLARE name text; BEGIN
    FOREACH name IN ARRAY ARRAY['sessionact', 'accountact', 'staffact', 'staffaccess', 'actrequest', 'actrequeststep',
        'casefile', 'caseitem', 'caseentry']
    LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER set_time BEFORE INSERT ON %I
            FOR EACH ROW EXECUTE FUNCTION adk_set_time()', 'sessions_app_' || name);
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION adk_set_times_of_hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.set_at := clock_timestamp();
    END IF;
    -- Of an INSERT, OLD is NULL.
    IF OLD.lifted_at IS NULL AND NEW.lifted_at IS NOT NULL THEN
        NEW.lifted_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER set_times BEFORE INSERT OR UPDATE OF lifted_at ON sessions_app_legalhold
    FOR EACH ROW EXECUTE FUNCTION adk_set_times_of_hold();

-- Return the hash of the columns with which an invocation or a job has ended, or a hold was lifted. No words are kept: an
-- error may quote a conversation.

CREATE OR REPLACE FUNCTION adk_hash_of_end(ended sessions_app_invocation) RETURNS bytea LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN sha256(convert_to(jsonb_build_array(ended.invocation_id, ended.status, ended.error_code, ended.error_message,
        ended.agent_version, ended.cancelled_by_name, ended.cancel_reason, extract(epoch FROM ended.finished_at)
    )::text, 'UTF8'));
END $$;

-- Return the hash of the error alone, which an invocation keeps when it waits or runs again after its end.

CREATE OR REPLACE FUNCTION adk_hash_of_error(ended sessions_app_invocation) RETURNS bytea LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN sha256(convert_to(jsonb_build_array(ended.invocation_id, ended.error_code, ended.error_message)::text, 'UTF8'));
END $$;

CREATE OR REPLACE FUNCTION adk_hash_of_job(ended sessions_app_tooljob) RETURNS bytea LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN sha256(convert_to(jsonb_build_array(ended.id, ended.call_id, ended.tool_name, ended.args, ended.status,
        ended.result, ended.error, ended.answers, ended.artifacts, ended.cancelled_by_name, ended.cancel_reason,
        extract(epoch FROM ended.finished_at)
    )::text, 'UTF8'));
END $$;

CREATE OR REPLACE FUNCTION adk_hash_of_lifting(lifted sessions_app_legalhold) RETURNS bytea LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN sha256(convert_to(jsonb_build_array(
        lifted.lifted_by_name, lifted.lift_reason, extract(epoch FROM lifted.lifted_at)
    )::text, 'UTF8'));
END $$;

-- Record an end. The function has the rights of the owner of the tables: the role of `deploy/roles.sql` cannot insert the
-- row itself.

CREATE OR REPLACE FUNCTION adk_record_end() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'sessions_app_invocation' THEN
        INSERT INTO sessions_app_recordedend (kind, subject_id, erased_with, hash, error_hash)
        VALUES ('invocation', NEW.id, NEW.session_id::text, adk_hash_of_end(NEW), adk_hash_of_error(NEW));
    ELSIF TG_TABLE_NAME = 'sessions_app_tooljob' THEN
        INSERT INTO sessions_app_recordedend (kind, subject_id, job_id, erased_with, hash)
        VALUES ('tooljob', 0, NEW.id, NEW.session_id::text, adk_hash_of_job(NEW));
    ELSE
        INSERT INTO sessions_app_recordedend (kind, subject_id, erased_with, hash)
        VALUES ('legalhold', NEW.id, coalesce(NEW.session_id::text, NEW.user_id::text), adk_hash_of_lifting(NEW));
    END IF;
    RETURN NULL;
END $$;

REVOKE ALL ON FUNCTION adk_record_end FROM PUBLIC;

CREATE OR REPLACE TRIGGER record_end AFTER UPDATE OF status ON sessions_app_invocation FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.status IN ('completed', 'failed', 'cancelled'))
    EXECUTE FUNCTION adk_record_end();
CREATE OR REPLACE TRIGGER record_inserted_end AFTER INSERT ON sessions_app_invocation FOR EACH ROW
    WHEN (NEW.status IN ('completed', 'failed', 'cancelled'))
    EXECUTE FUNCTION adk_record_end();
CREATE OR REPLACE TRIGGER record_end AFTER UPDATE OF status ON sessions_app_tooljob FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.status IN ('succeeded', 'failed', 'cancelled'))
    EXECUTE FUNCTION adk_record_end();
CREATE OR REPLACE TRIGGER record_inserted_end AFTER INSERT ON sessions_app_tooljob FOR EACH ROW
    WHEN (NEW.status IN ('succeeded', 'failed', 'cancelled'))
    EXECUTE FUNCTION adk_record_end();
CREATE OR REPLACE TRIGGER record_end AFTER UPDATE OF lifted_at ON sessions_app_legalhold FOR EACH ROW
    WHEN (OLD.lifted_at IS NULL AND NEW.lifted_at IS NOT NULL)
    EXECUTE FUNCTION adk_record_end();
CREATE OR REPLACE TRIGGER record_inserted_end AFTER INSERT ON sessions_app_legalhold FOR EACH ROW
    WHEN (NEW.lifted_at IS NOT NULL)
    EXECUTE FUNCTION adk_record_end();
