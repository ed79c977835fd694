-- Stage a delivery of the event for each webhook that asked for it: those of the session's user, and those for a group
-- of which the user is a member. The payload has ids and no words of the conversation. In PL/pgSQL, which keeps plans.

CREATE OR REPLACE FUNCTION adk_tell_webhooks(session uuid, told text, about text, details jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    hooks uuid[];
BEGIN
    SELECT array_agg(w.id) INTO hooks FROM (
        SELECT h.id FROM sessions_app_session s
            JOIN sessions_app_webhook h ON h.user_id = s.user_id AND h.people_id IS NULL
            WHERE s.id = session
{webhooks_of_groups}    ) w;
    IF hooks IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO sessions_app_webhookdelivery (message_id, webhook_id, event, subject, payload)
    SELECT gen_random_uuid(), w.id, told, left(about, 160), jsonb_build_object(
        'type', told, 'timestamp', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'data', jsonb_build_object('session_id', s.id, 'app_name', s.app_name, 'user_id', s.user_id::text) || details
    )
    FROM sessions_app_session s JOIN sessions_app_webhook w ON w.id = ANY(hooks)
    WHERE s.id = session AND s.deleted_at IS NULL AND w.disabled_at IS NULL AND told = ANY(w.events);
END $$;
