-- Functions of the generated columns of an event. Immutable: they depend on the event's JSON alone.

CREATE FUNCTION adk_event_text(body jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT string_agg(part ->> 'text', '' ORDER BY place)
    FROM jsonb_array_elements(body -> 'content' -> 'parts') WITH ORDINALITY AS parts(part, place)
    WHERE part ? 'text' AND part ->> 'thought' IS DISTINCT FROM 'true'
$$;

CREATE FUNCTION adk_event_kind(body jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN body ? 'errorCode' THEN 'error'
        WHEN body @? '$.content.parts[*].functionCall' THEN 'call'
        WHEN body @? '$.content.parts[*].functionResponse' THEN 'response'
        WHEN body @? '$.content.parts[*]' THEN 'message'
        ELSE 'state'
    END
$$;

CREATE FUNCTION adk_event_time(body jsonb) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_timestamp((body ->> 'timestamp')::double precision)
$$;

CREATE FUNCTION adk_event_prompt_tokens(body jsonb) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (body -> 'usageMetadata' ->> 'promptTokenCount')::integer
$$;

CREATE FUNCTION adk_event_output_tokens(body jsonb) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (body -> 'usageMetadata' ->> 'candidatesTokenCount')::integer
$$;

-- Return the values that the keys of a delta have in a state, each key with its scope prefix; new keys are absent.

CREATE FUNCTION adk_before(delta jsonb, state jsonb, prefix text) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(jsonb_object_agg(prefix || key, state -> key), '{}')
    FROM jsonb_object_keys(delta) AS key
    WHERE state ? key
$$;
