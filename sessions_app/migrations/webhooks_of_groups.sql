-- The function of webhooks.sql, which also tells webhooks about the people of a group: those for whom a service's key
-- acts, which are active and neither staff nor superusers. The names of the tables of people are the project's.
CREATE OR REPLACE FUNCTION adk_tell_webhooks(session uuid, told text, about text, details jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    hooks uuid[];
BEGIN
    SELECT array_agg(w.id) INTO hooks FROM (
        SELECT h.id FROM sessions_app_session s
            JOIN sessions_app_webhook h ON h.user_id = s.user_id AND h.people_id IS NULL
            WHERE s.id = session
        UNION ALL
        SELECT h.id FROM sessions_app_session s
            JOIN {members} m ON m.{member} = s.user_id
            JOIN sessions_app_webhook h ON h.people_id = m.{group}
            JOIN {people} p ON p.{person} = s.user_id AND p.is_active AND NOT p.is_staff AND NOT p.is_superuser
            WHERE s.id = session
    ) w;
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
