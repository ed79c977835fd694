-- Rules that the database enforces or decides: the log is append-only, and the limits on invocations.

-- Events never change, and are deleted by `adk_erase_session` and `adk_pack_session` only: in the transaction that
-- inserts the record.

CREATE OR REPLACE FUNCTION adk_refuse_change() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM sessions_app_erasedsession WHERE session_id = OLD.session_id AND at = now()) THEN
            RETURN OLD;
        END IF;
        IF EXISTS (SELECT FROM sessions_app_pack WHERE session_id = OLD.session_id AND packed_at = now()) THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'Events are append-only: % of event % in session % is refused', TG_OP, OLD.seq, OLD.session_id
        USING ERRCODE = 'restrict_violation';
END
$$;

CREATE OR REPLACE TRIGGER event_append_only BEFORE UPDATE OR DELETE ON sessions_app_event
    FOR EACH ROW EXECUTE FUNCTION adk_refuse_change();

-- Return true if an invocation of the session is queued. A volatile function has a snapshot of its own: called under
-- the lock of the session's row, it sees all invocations that were queued before, even if the statement around it began
-- earlier.

CREATE OR REPLACE FUNCTION adk_has_queued(session uuid) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM sessions_app_invocation WHERE session_id = session AND status = 'queued');
END $$;

-- Return true if the user of the session has `most` queued invocations. The advisory lock lets one statement at a time
-- count and add; being volatile, the function sees what the others have added. Only leased sessions keep a queue, so
-- the count does not grow with the number of sessions.

CREATE OR REPLACE FUNCTION adk_queue_is_full(session uuid, most integer) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    person sessions_app_session.user_id%TYPE;
BEGIN
    SELECT user_id INTO person FROM sessions_app_session WHERE id = session;
    PERFORM pg_advisory_xact_lock(hashtextextended('adk:queue:' || person, 0));
    RETURN most <= (
        SELECT count(*) FROM sessions_app_session s JOIN sessions_app_invocation i ON i.session_id = s.id
        WHERE s.user_id = person AND s.lease_owner <> '' AND s.id <> session AND i.status = 'queued'
    ) + (
        SELECT count(*) FROM sessions_app_invocation i WHERE i.session_id = session AND i.status = 'queued'
    );
END $$;

-- Return the limit that an invocation of the session would exceed if it began now: 'person', 'app' or ''. A limit of 0
-- is none, and nothing is counted for it; `of_app` maps names of apps to limits, and the key "" is for all others.
-- The session itself is not counted: its last invocation may have ended while the calling statement waited for the row
-- of the session, but that statement still sees the old lease.

CREATE OR REPLACE FUNCTION adk_excess(session uuid, of_person integer, of_app jsonb) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    own record;
BEGIN
    IF of_person < 1 AND of_app = '{}' THEN
        RETURN '';
    END IF;
    SELECT user_id, app_name INTO own FROM sessions_app_session WHERE id = session;
    IF of_person BETWEEN 1 AND (
        SELECT count(*) FROM sessions_app_session
        WHERE lease_owner <> '' AND user_id = own.user_id AND id <> session
    ) THEN
        RETURN 'person';
    END IF;
    IF coalesce(of_app ->> own.app_name, of_app ->> '', '0')::integer BETWEEN 1 AND (
        SELECT count(*) FROM sessions_app_session
        WHERE lease_owner <> '' AND app_name = own.app_name AND id <> session
    ) THEN
        RETURN 'app';
    END IF;
    RETURN '';
END $$;

-- Return true if the API key has used up its tokens of the day.

CREATE OR REPLACE FUNCTION adk_key_has_spent(key uuid, today date) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM sessions_app_keyusage used JOIN sessions_app_apikey k ON k.id = used.key_id
        WHERE used.key_id = key AND used.day = today AND k.tokens_per_day BETWEEN 1 AND used.tokens
    );
END $$;
