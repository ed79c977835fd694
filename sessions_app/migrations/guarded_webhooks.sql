-- The triggers of webhooks.sql and push_notifications.sql, which look first whether there is anybody to tell: the end
-- of a run that nobody is told of costs two look-ups.
CREATE OR REPLACE FUNCTION adk_tell_of_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM sessions_app_webhook) THEN
        PERFORM adk_tell_webhooks(NEW.session_id, 'run.ended', NEW.invocation_id, jsonb_build_object(
            'run_id', NEW.invocation_id, 'client_id', NEW.client_id, 'status', NEW.status));
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION adk_tell_of_task() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM sessions_app_webhook WHERE session_id = NEW.session_id) THEN
        INSERT INTO sessions_app_webhookdelivery (message_id, webhook_id, event, subject, payload)
        SELECT gen_random_uuid(), w.id, 'task.changed', w.task_id, '{"data": {}}'
        FROM sessions_app_webhook w WHERE w.session_id = NEW.session_id AND w.disabled_at IS NULL;
    END IF;
    RETURN NULL;
END $$;
