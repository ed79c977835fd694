-- Packs: events of sessions that nobody has used for long leave the tables, and come back unchanged. The functions have
-- the rights of the owner of the tables: the role of `deploy/roles.sql` may neither delete events nor insert them with
-- their keys and hashes, nor write the rows of packs.

-- Return an event as a line of a pack: all of its row that other columns do not tell. The number of the line is `seq`.

CREATE OR REPLACE FUNCTION adk_packed_event(e sessions_app_event) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_array(e.id, e.body, e.before, e.model_call, encode(e.hash, 'hex'));
END
$$;

CREATE OR REPLACE FUNCTION adk_digest_of_log(session uuid) RETURNS bytea LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT adk_chain_of_log(e.session_id, e.seq, adk_packed_event(e) ORDER BY e.seq)
        FROM sessions_app_event e WHERE e.session_id = session
    );
END
$$;

-- Take the events of a session out of the tables, if its file has them: `expected` is the digest of its lines. Return
-- false, with nothing changed, if the session is held, in use or packed, has something that waits, or has other events.

CREATE OR REPLACE FUNCTION adk_pack_session(packed uuid, stored text, bytes bigint, sum text, expected bytea)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    own record;
    head bytea;
BEGIN
    SELECT id, user_id, last_seq INTO own FROM sessions_app_session
    WHERE id = packed AND packed_at IS NULL AND lease_owner = '' AND last_seq > 0 FOR UPDATE;
    IF NOT FOUND OR EXISTS (
        SELECT FROM sessions_app_legalhold
        WHERE lifted_at IS NULL AND (session_id = own.id OR user_id = own.user_id)
    ) OR EXISTS (
        SELECT FROM sessions_app_invocation
        WHERE session_id = own.id AND status NOT IN ('completed', 'failed', 'cancelled')
    ) OR EXISTS (
        SELECT FROM sessions_app_tooljob
        WHERE session_id = own.id AND (status NOT IN ('succeeded', 'failed', 'cancelled') OR delivered_at IS NULL)
    ) OR EXISTS (
        SELECT FROM sessions_app_scheduledtask WHERE session_id = own.id AND next_at IS NOT NULL
    ) OR NOT EXISTS (
        SELECT FROM sessions_app_sessionfigures
        WHERE session_id = own.id AND is_settled AND seq = own.last_seq AND words_seq = own.last_seq
    ) THEN
        RETURN false;
    END IF;
    SELECT hash INTO head FROM sessions_app_event WHERE session_id = own.id AND seq = own.last_seq;
    IF head IS NULL OR adk_digest_of_log(own.id) IS DISTINCT FROM expected THEN
        RETURN false;
    END IF;
    INSERT INTO sessions_app_pack AS p (session_id, file, size, sha256, last_seq, digest, hash, acts, packed_at)
    VALUES (own.id, stored, bytes, sum, own.last_seq, expected, head, adk_acts_to_keep(own.id), now())
    ON CONFLICT (session_id) DO UPDATE SET file = EXCLUDED.file, size = EXCLUDED.size, sha256 = EXCLUDED.sha256,
        last_seq = EXCLUDED.last_seq, digest = EXCLUDED.digest, hash = EXCLUDED.hash, acts = EXCLUDED.acts,
        packed_at = EXCLUDED.packed_at, opened_at = NULL;
    DELETE FROM sessions_app_eventwords WHERE session_id = own.id;
    DELETE FROM sessions_app_event WHERE session_id = own.id;
    UPDATE sessions_app_session SET packed_at = now() WHERE id = own.id;
    RETURN true;
END
$$;

-- Bring the events of a packed session back. Return false if the session is gone or not packed; fail if the lines are
-- not those of its pack. A sweep stores the words of the events again.

CREATE OR REPLACE FUNCTION adk_open_pack(opened uuid, lines text[]) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    PERFORM FROM sessions_app_session WHERE id = opened AND packed_at IS NOT NULL FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO sessions_app_event (id, session_id, seq, body, before, model_call, hash)
    SELECT (event ->> 0)::bigint, opened, seq, event -> 1, nullif(event -> 2, 'null'), nullif(event -> 3, 'null'),
        decode(event ->> 4, 'hex')
    FROM (SELECT line::jsonb AS event, seq FROM unnest(lines) WITH ORDINALITY given (line, seq) OFFSET 0) parsed;
    IF adk_digest_of_log(opened) IS DISTINCT FROM (SELECT digest FROM sessions_app_pack WHERE session_id = opened) THEN
        RAISE EXCEPTION 'These are not the events of session %', opened USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE sessions_app_pack SET opened_at = now() WHERE session_id = opened;
    UPDATE sessions_app_sessionfigures
    SET words_seq = 0, is_settled = false, counted_at = now() - interval '1 minute' WHERE session_id = opened;
    UPDATE sessions_app_session SET packed_at = NULL WHERE id = opened;
    RETURN true;
END
$$;

REVOKE ALL ON FUNCTION adk_pack_session, adk_open_pack FROM PUBLIC;
