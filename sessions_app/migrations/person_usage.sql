-- True when as many invocations of the session's user wait for their turn as may wait. The advisory lock lets one
-- statement at a time count and add; a volatile function then sees what the others have added. Only leased sessions
-- have a queue that lasts, so the count does not grow with the number of the user's sessions.
CREATE FUNCTION adk_queue_is_full(session uuid, most integer) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
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

-- Keeps the sum of the sizes of each user's artifacts, however the rows are inserted and deleted.
CREATE FUNCTION adk_count_artifact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO sessions_app_personusage AS u (user_id, artifact_bytes) VALUES (NEW.user_id, NEW.size)
            ON CONFLICT (user_id) DO UPDATE SET artifact_bytes = u.artifact_bytes + EXCLUDED.artifact_bytes;
    ELSE
        UPDATE sessions_app_personusage SET artifact_bytes = artifact_bytes - OLD.size WHERE user_id = OLD.user_id;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER artifact_bytes AFTER INSERT OR DELETE ON sessions_app_artifact
    FOR EACH ROW EXECUTE FUNCTION adk_count_artifact();

INSERT INTO sessions_app_personusage (user_id, artifact_bytes)
    SELECT user_id, sum(size) FROM sessions_app_artifact GROUP BY user_id;
