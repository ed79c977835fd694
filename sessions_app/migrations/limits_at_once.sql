-- The limit that an invocation of the session exceeds if it begins now: 'person', 'app' or ''. Limits of 0 are none, and
-- nothing is counted for them; "of_app" has them by app name, and with the key "" for all other apps. The session itself
-- is left out: its last invocation may have ended while the calling statement waited for the session's row, but its old
-- lease is still visible to that statement.
CREATE FUNCTION adk_excess(session uuid, of_person integer, of_app jsonb) RETURNS text LANGUAGE plpgsql STABLE AS $$
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

-- True when the API key has used up its tokens of the day.
CREATE FUNCTION adk_key_has_spent(key uuid, today date) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM sessions_app_keyusage used JOIN sessions_app_apikey k ON k.id = used.key_id
        WHERE used.key_id = key AND used.day = today AND k.tokens_per_day BETWEEN 1 AND used.tokens
    );
END $$;
