-- The functions of an event's generated columns, in PL/pgSQL: PostgreSQL reads and inlines a function in SQL anew for
-- each INSERT, which took half of an append's CPU time. Results are as before. Each function stands alone, because a
-- restored dump has no search path.

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
