-- Evidence that an event log was not altered. The chain is a hash over all bodies so far, in order; a session's row
-- holds it for its last event. An event's own hash is the chain at its place, and covers what it recorded as `before`.

CREATE FUNCTION adk_chain(chain bytea, session uuid, seq bigint, body jsonb) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT sha256(chain || convert_to(session::text || ' ' || seq::text || ' ' || body::text, 'UTF8'))
$$;

CREATE FUNCTION adk_event_hash(chain bytea, before jsonb) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN before IS NULL THEN chain ELSE sha256(chain || convert_to(before::text, 'UTF8')) END
$$;

CREATE AGGREGATE adk_chain_of_log(uuid, bigint, jsonb) (SFUNC = adk_chain, STYPE = bytea, INITCOND = '');

-- Events are never changed. Erasure, which is a use case of its own, says so with `SET LOCAL adk.erasing = 'on'`.

CREATE FUNCTION adk_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('adk.erasing', true) = 'on' THEN
        RETURN coalesce(NEW, OLD);
    END IF;
    RAISE EXCEPTION 'Events are append-only: % of event % in session % is refused', TG_OP, OLD.seq, OLD.session_id
        USING ERRCODE = 'restrict_violation';
END
$$;
