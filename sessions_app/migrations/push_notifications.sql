-- Stages a delivery for each address of push notifications in the session: one of its tasks may have come to rest.
CREATE FUNCTION adk_tell_of_task() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sessions_app_webhookdelivery (message_id, webhook_id, event, subject, payload)
    SELECT gen_random_uuid(), w.id, 'task.changed', w.task_id, '{"data": {}}'
    FROM sessions_app_webhook w WHERE w.session_id = NEW.session_id AND w.disabled_at IS NULL;
    RETURN NULL;
END $$;

CREATE TRIGGER tell_of_task AFTER UPDATE OF status ON sessions_app_invocation FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.status NOT IN ('queued', 'running'))
    EXECUTE FUNCTION adk_tell_of_task();

CREATE TRIGGER tell_of_task AFTER UPDATE OF status ON sessions_app_tooljob FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.status = 'waiting')
    EXECUTE FUNCTION adk_tell_of_task();
