-- Deletion of evidence. Each function records what it deletes, in the same transaction, after a check of its arguments
-- and of the legal holds. The functions have the rights of the owner of the tables: the role of `deploy/roles.sql` may
-- call them, and may not delete the rows itself. `pg_temp` is last: no temporary table takes the place of a table.

-- Return who did what in a session, the newest 200 acts, without words, names and addresses: time, kind of actor, act,
-- tool or kind of subject, and numbers among the arguments. Names that are no identifiers may be words of a person.

CREATE OR REPLACE FUNCTION adk_acts_to_keep(erased uuid) RETURNS jsonb LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    RETURN coalesce(jsonb_agg(jsonb_build_array(extract(epoch FROM at), by, act, tool, numbers)), '[]') FROM (
        SELECT a.at, a.actor_kind AS by, a.action AS act, '' AS tool, a.subject_kind AS numbers
        FROM sessions_app_sessionact a WHERE a.session_id = erased AND a.actor_kind <> 'staff'
        UNION ALL
        SELECT e.happened_at, CASE e.author WHEN 'user' THEN coalesce(nullif(i.actor_kind, ''), 'person') ELSE 'agent' END,
            CASE WHEN e.author <> 'user' THEN 'call' WHEN given ->> 'name' <> 'adk_request_confirmation' THEN 'answer'
                WHEN given #> '{response,confirmed}' = 'true' THEN 'approve' ELSE 'reject' END,
            coalesce(called.call, given) ->> 'name',
            (
                SELECT string_agg(format('%s=%s', key, value), ', ' ORDER BY key)
                FROM jsonb_each(CASE jsonb_typeof(called.call -> 'args') WHEN 'object' THEN called.call -> 'args' END)
                WHERE jsonb_typeof(value) = 'number' AND length(value::text) < 10 AND key ~ '^[A-Za-z_]\w{0,63}$'
            )
        FROM (
                -- A bound: the search for the call of each response would take minutes in a session of 100,000 events.
                SELECT * FROM sessions_app_event newest WHERE newest.session_id = erased AND newest.kind = 'response'
                    AND newest.happened_at IS NOT NULL
                ORDER BY newest.seq DESC LIMIT 400
            ) e
            CROSS JOIN LATERAL jsonb_path_query(e.body, '$.content.parts[*].functionResponse') given
            LEFT JOIN sessions_app_invocation i ON i.session_id = erased
                AND i.invocation_id = coalesce(e.body #>> '{customMetadata,adk_answer,invocation}', e.invocation_id)
            LEFT JOIN LATERAL (
                SELECT coalesce(call #> '{args,originalFunctionCall}', call) AS call
                FROM sessions_app_event m, jsonb_path_query(m.body, '$.content.parts[*].functionCall') call
                WHERE m.session_id = erased AND m.seq BETWEEN e.seq - 2000 AND e.seq - 1 AND m.kind = 'call'
                    AND call ->> 'id' = given ->> 'id'
                ORDER BY m.seq DESC LIMIT 1
            ) called ON true
        WHERE (e.author <> 'user' OR i.actor_kind IS DISTINCT FROM 'staff')
            -- A call that waits, was rejected or failed: its name may be one that a model has invented.
            AND (e.author = 'user' OR given #> '{response,error}' IS NULL
                AND coalesce(given #>> '{response,status}', '') NOT IN ('pending', 'queued', 'error', 'failed'))
            AND coalesce(called.call, given) ->> 'name' ~ '^[A-Za-z_]\w{0,63}$'
        ORDER BY 1 DESC LIMIT 200
    ) kept;
END
$$;

-- Delete the evidence of a session: events, acts, invocations and lifted holds. `stone` is the unfinished tombstone of
-- the session or of its user, or NULL for a session that is deleted through the ADK API.

CREATE OR REPLACE FUNCTION adk_erase_session(erased uuid, stone bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    own record;
    head bytea;
    kept jsonb;
BEGIN
    SELECT id, user_id, last_seq, packed_at INTO own FROM sessions_app_session WHERE id = erased FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no session % to erase', erased USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (
        SELECT FROM sessions_app_legalhold
        WHERE lifted_at IS NULL AND (session_id = own.id OR user_id = own.user_id)
    ) THEN
        RAISE EXCEPTION 'Session % is under legal hold', erased USING ERRCODE = 'restrict_violation';
    END IF;
    IF stone IS NOT NULL AND NOT EXISTS (
        SELECT FROM sessions_app_tombstone
        WHERE id = stone AND finished_at IS NULL AND user_id = own.user_id::text
            AND (kind = 'session' AND subject_id = erased::text OR kind = 'person')
    ) THEN
        RAISE EXCEPTION 'Tombstone % is not of session %', stone, erased USING ERRCODE = 'restrict_violation';
    END IF;
    kept := adk_acts_to_keep(erased);
    IF own.packed_at IS NULL THEN
        SELECT hash INTO head FROM sessions_app_event WHERE session_id = erased ORDER BY seq DESC LIMIT 1;
    ELSE
        SELECT hash INTO head FROM sessions_app_pack WHERE session_id = erased;
        -- The events tell of calls and answers; their acts were kept when they were packed.
        SELECT jsonb_agg(act ORDER BY act -> 0 DESC) INTO kept FROM (
            SELECT act FROM (
                SELECT jsonb_array_elements(kept) AS act
                UNION SELECT jsonb_array_elements(acts) FROM sessions_app_pack WHERE session_id = erased
            ) known ORDER BY act -> 0 DESC LIMIT 200
        ) newest;
    END IF;
    INSERT INTO sessions_app_erasedsession (session_id, tombstone_id, last_seq, hash, at, acts)
    VALUES (erased, stone, own.last_seq, head, now(), coalesce(kept, '[]'));
    DELETE FROM sessions_app_pack WHERE session_id = erased;
    DELETE FROM sessions_app_event WHERE session_id = erased;
    DELETE FROM sessions_app_sessionact WHERE session_id = erased;
    DELETE FROM sessions_app_invocation WHERE session_id = erased;
    DELETE FROM sessions_app_legalhold WHERE session_id = erased;
    DELETE FROM sessions_app_recordedend WHERE erased_with = erased::text;
END
$$;

-- Delete the records of a user without a session, acts and lifted holds, and return the number of acts.

CREATE OR REPLACE FUNCTION adk_erase_account(person sessions_app_session.user_id%TYPE) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    acts bigint;
BEGIN
    IF EXISTS (SELECT FROM sessions_app_legalhold WHERE lifted_at IS NULL AND user_id = person) THEN
        RAISE EXCEPTION 'User % is under legal hold', person USING ERRCODE = 'restrict_violation';
    END IF;
    IF NOT EXISTS (
        SELECT FROM sessions_app_tombstone
        WHERE kind = 'person' AND subject_id = person::text AND finished_at IS NULL
    ) THEN
        RAISE EXCEPTION 'User % has no unfinished tombstone', person USING ERRCODE = 'restrict_violation';
    END IF;
    DELETE FROM sessions_app_legalhold WHERE user_id = person;
    DELETE FROM sessions_app_recordedend WHERE erased_with = person::text;
    DELETE FROM sessions_app_accountact WHERE user_id = person;
    GET DIAGNOSTICS acts = ROW_COUNT;
    RETURN acts;
END
$$;

-- Delete records of what staff read that are older than so many days, at least 30, and return their number. The
-- tombstone has the id of the newest deleted row.

CREATE OR REPLACE FUNCTION adk_delete_accesses(days integer) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    deleted record;
BEGIN
    WITH old AS (
        DELETE FROM sessions_app_staffaccess WHERE at < now() - make_interval(days => greatest(days, 30)) RETURNING id
    )
    SELECT count(*) AS rows, max(id) AS newest INTO deleted FROM old;
    IF deleted.rows > 0 THEN
        INSERT INTO sessions_app_tombstone (kind, subject_id, user_id, counts, reason, started_at, finished_at)
        VALUES ('accesses', deleted.newest::text, '', jsonb_build_object('staff_accesses', deleted.rows),
            format('Older than %s days.', greatest(days, 30)), now(), now());
    END IF;
    RETURN deleted.rows;
END
$$;

REVOKE ALL ON FUNCTION adk_acts_to_keep, adk_erase_session, adk_erase_account, adk_delete_accesses FROM PUBLIC;

-- A lifted hold and a finished tombstone are final. When an account is deleted, its key becomes NULL; no other takes its
-- place.

CREATE OR REPLACE FUNCTION adk_refuse_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Row % of % is final: its change is refused', OLD.id, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END
$$;

CREATE OR REPLACE TRIGGER hold_is_final BEFORE UPDATE ON sessions_app_legalhold FOR EACH ROW
    WHEN (
        OLD.lifted_at IS NOT NULL AND (
            (OLD.lifted_at, OLD.lifted_by_name, OLD.lift_reason)
                IS DISTINCT FROM (NEW.lifted_at, NEW.lifted_by_name, NEW.lift_reason)
            OR coalesce(NEW.lifted_by_id <> OLD.lifted_by_id, NEW.lifted_by_id IS NOT NULL)
        )
        OR coalesce(NEW.set_by_id <> OLD.set_by_id, NEW.set_by_id IS NOT NULL)
    ) EXECUTE FUNCTION adk_refuse_rewrite();

CREATE OR REPLACE TRIGGER tombstone_is_final BEFORE UPDATE ON sessions_app_tombstone FOR EACH ROW
    WHEN (
        OLD.finished_at IS NOT NULL
            AND (OLD.counts, OLD.finished_at) IS DISTINCT FROM (NEW.counts, NEW.finished_at)
        OR coalesce(NEW.by_id <> OLD.by_id, NEW.by_id IS NOT NULL)
    ) EXECUTE FUNCTION adk_refuse_rewrite();
