-- Functions that depend on their arguments alone: the generated columns of events, and the hashes of logs.

-- The columns of an event. They are written in PL/pgSQL because PostgreSQL parses and inlines a function in SQL again
-- for each INSERT, which took half of the CPU time of an append. No function calls another: a restored dump has no
-- search path. Times that Python cannot hold become NULL, and counts are limited to the largest integer.

CREATE OR REPLACE FUNCTION adk_event_text(body jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN (
        SELECT string_agg(part ->> 'text', '' ORDER BY place)
        FROM jsonb_array_elements(body -> 'content' -> 'parts') WITH ORDINALITY AS parts(part, place)
        WHERE part ? 'text' AND part ->> 'thought' IS DISTINCT FROM 'true'
    );
END $$;

CREATE OR REPLACE FUNCTION adk_event_kind(body jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN CASE
        WHEN body ? 'errorCode' THEN 'error'
        WHEN body @? '$.content.parts[*].functionCall' THEN 'call'
        WHEN body @? '$.content.parts[*].functionResponse' THEN 'response'
        WHEN body @? '$.content.parts[*]' THEN 'message'
        ELSE 'state'
    END;
END $$;

CREATE OR REPLACE FUNCTION adk_event_time(body jsonb) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN CASE WHEN jsonb_typeof(body -> 'timestamp') = 'number' THEN
        CASE WHEN (body ->> 'timestamp')::numeric BETWEEN -62135510400 AND 253402214400
            THEN to_timestamp((body ->> 'timestamp')::double precision) END
    END;
END $$;

CREATE OR REPLACE FUNCTION adk_event_prompt_tokens(body jsonb) RETURNS integer LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN CASE WHEN jsonb_typeof(body -> 'usageMetadata' -> 'promptTokenCount') = 'number'
        THEN least(greatest((body -> 'usageMetadata' ->> 'promptTokenCount')::numeric, 0), 2147483647)::integer END;
END $$;

CREATE OR REPLACE FUNCTION adk_event_output_tokens(body jsonb) RETURNS integer LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN CASE WHEN jsonb_typeof(body -> 'usageMetadata' -> 'candidatesTokenCount') = 'number'
        THEN least(greatest((body -> 'usageMetadata' ->> 'candidatesTokenCount')::numeric, 0), 2147483647)::integer END;
END $$;

-- Return the values that the keys of a delta have in a state, with the prefix of the scope. New keys are absent.

CREATE OR REPLACE FUNCTION adk_before(delta jsonb, state jsonb, prefix text) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(jsonb_object_agg(prefix || key, state -> key), '{}')
    FROM jsonb_object_keys(delta) AS key
    WHERE state ? key
$$;

-- Evidence that a log was not altered. The chain is a hash over the bodies of all events so far, in order, which the
-- row of the session holds for its last event. The hash of an event is the chain at its place, with what the event
-- recorded as `before`.

CREATE OR REPLACE FUNCTION adk_chain(chain bytea, session uuid, seq bigint, body jsonb) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT sha256(chain || convert_to(session::text || ' ' || seq::text || ' ' || body::text, 'UTF8'))
$$;

CREATE OR REPLACE FUNCTION adk_event_hash(chain bytea, before jsonb) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN before IS NULL THEN chain ELSE sha256(chain || convert_to(before::text, 'UTF8')) END
$$;

CREATE OR REPLACE AGGREGATE adk_chain_of_log(uuid, bigint, jsonb) (SFUNC = adk_chain, STYPE = bytea, INITCOND = '');
