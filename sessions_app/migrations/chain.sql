-- Hashes of events, by the second rule: see sessions_app/history/evidence/integrity.py. The database computes them when
-- an event is inserted, so the processes of the site cannot choose them. A hash by this rule has the byte 2 before its
-- SHA-256.
-- Names have their schema: no temporary table of the writer takes the place of a table.

-- Return what else a session's event of a user rests on: the actor, address and reason of the invocation that wrote it,
-- and the outcome of the job whose response it has.

CREATE OR REPLACE FUNCTION adk_facts(session uuid, body jsonb) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    asked record;
    outcome text;
BEGIN
    IF body ->> 'author' IS DISTINCT FROM 'user' THEN
        RETURN '';
    END IF;
    -- Not its client id, which a rewind changes.
    SELECT actor_kind, actor_id, actor_name, address, reason INTO asked FROM {schema}.sessions_app_invocation
    WHERE session_id = session
        AND invocation_id = coalesce(body #>> '{customMetadata,adk_answer,invocation}', body ->> 'invocationId');
    IF NOT FOUND THEN
        RETURN '';
    END IF;
    IF asked.actor_kind = 'job' AND asked.actor_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN
        SELECT jsonb_build_array(status, result, error, tool_name, args)::text INTO outcome
        FROM {schema}.sessions_app_tooljob WHERE id = asked.actor_id::uuid;
    END IF;
    RETURN jsonb_build_array(asked.actor_kind, asked.actor_id, asked.actor_name, asked.address, asked.reason,
        outcome)::text;
END $$;

-- Return the hash before the first event by this rule: over app, owner, key and first state of the session, and the hash
-- of its last event by the first rule.

CREATE OR REPLACE FUNCTION adk_first_link(session uuid, previous bytea) RETURNS bytea LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT sha256(coalesce(previous, '') || convert_to(
            jsonb_build_array(id, app_name, user_id, key, initial_state)::text, 'UTF8'))
        FROM {schema}.sessions_app_session WHERE id = session
    );
END $$;

CREATE OR REPLACE FUNCTION adk_event_link(previous bytea, seq bigint, body jsonb, before jsonb, facts text) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT '\x02'::bytea || sha256(previous || convert_to(
        seq::text || ' ' || body::text || coalesce(before::text, '') || coalesce(facts, ''), 'UTF8'))
$$;

CREATE OR REPLACE FUNCTION adk_chain_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    previous bytea;
    facts text;
BEGIN
    SELECT hash INTO previous FROM {schema}.sessions_app_event WHERE session_id = NEW.session_id AND seq = NEW.seq - 1;
    IF NOT FOUND OR NEW.hash IS NOT NULL THEN
        IF EXISTS (SELECT FROM {schema}.sessions_app_session WHERE id = NEW.session_id AND packed_at IS NOT NULL) THEN
            -- `adk_open_pack` brings events back with their hashes. Only who may delete events may choose a hash.
            IF NEW.hash IS NOT NULL AND has_table_privilege('{schema}.sessions_app_event', 'DELETE') THEN
                RETURN NEW;
            END IF;
            RAISE EXCEPTION 'The events of session % are packed', NEW.session_id USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    IF octet_length(previous) IS DISTINCT FROM 33 THEN
        previous := {schema}.adk_first_link(NEW.session_id, previous);
    END IF;
    IF NEW.body ->> 'author' = 'user' THEN
        facts := {schema}.adk_facts(NEW.session_id, NEW.body);
    END IF;
    NEW.hash := {schema}.adk_event_link(previous, NEW.seq, NEW.body, NEW.before, facts);
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER chain_event BEFORE INSERT ON sessions_app_event
    FOR EACH ROW EXECUTE FUNCTION adk_chain_event();
