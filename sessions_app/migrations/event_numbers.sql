-- Times and token counts of events that Python or a column cannot hold: a time outside of the calendar is no time, and
-- a count is at most the largest integer. The JSON keeps what the event said. Each function stands alone, because a
-- restored dump has no search path.

CREATE OR REPLACE FUNCTION adk_event_time(body jsonb) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(body -> 'timestamp') = 'number' THEN
        CASE WHEN (body ->> 'timestamp')::numeric BETWEEN -62135510400 AND 253402214400
            THEN to_timestamp((body ->> 'timestamp')::double precision) END
    END
$$;

CREATE OR REPLACE FUNCTION adk_event_prompt_tokens(body jsonb) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(body -> 'usageMetadata' -> 'promptTokenCount') = 'number'
        THEN least(greatest((body -> 'usageMetadata' ->> 'promptTokenCount')::numeric, 0), 2147483647)::integer END
$$;

CREATE OR REPLACE FUNCTION adk_event_output_tokens(body jsonb) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(body -> 'usageMetadata' -> 'candidatesTokenCount') = 'number'
        THEN least(greatest((body -> 'usageMetadata' ->> 'candidatesTokenCount')::numeric, 0), 2147483647)::integer END
$$;

-- Rows that were stored with such a time. Writing the body again computes the columns again; the hash stays.

SELECT set_config('adk.erasing', 'on', true);
UPDATE sessions_app_event SET body = body WHERE happened_at NOT BETWEEN to_timestamp(-62135510400) AND to_timestamp(253402214400);
SELECT set_config('adk.erasing', 'off', true);
UPDATE sessions_app_session SET updated_at = now()
    WHERE updated_at NOT BETWEEN to_timestamp(-62135510400) AND to_timestamp(253402214400);
