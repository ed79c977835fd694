-- Stages a delivery for each webhook that is told such an event of the session's person. A row of the transaction in
-- which the event happens: both are stored or neither. It tells ids, and no words of the conversation.
-- In PL/pgSQL, which keeps the plans: people without webhooks cost a look at two indexes.
CREATE FUNCTION adk_tell_webhooks(session uuid, told text, about text, details jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM sessions_app_session s JOIN sessions_app_webhook w ON w.user_id = s.user_id WHERE s.id = session
    ) THEN
        RETURN;
    END IF;
    INSERT INTO sessions_app_webhookdelivery (message_id, webhook_id, event, subject, payload)
    SELECT gen_random_uuid(), w.id, told, left(about, 160), jsonb_build_object(
        'type', told, 'timestamp', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'data', jsonb_build_object('session_id', s.id, 'app_name', s.app_name, 'user_id', s.user_id::text) || details
    )
    FROM sessions_app_session s JOIN sessions_app_webhook w ON w.user_id = s.user_id
    WHERE s.id = session AND s.deleted_at IS NULL AND w.disabled_at IS NULL AND told = ANY(w.events);
END $$;

CREATE FUNCTION adk_tell_of_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM adk_tell_webhooks(NEW.session_id, 'run.ended', NEW.invocation_id, jsonb_build_object(
        'run_id', NEW.invocation_id, 'client_id', NEW.client_id, 'status', NEW.status));
    RETURN NULL;
END $$;

CREATE TRIGGER tell_webhooks AFTER UPDATE OF status ON sessions_app_invocation FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.status IN ('completed', 'failed', 'cancelled'))
    EXECUTE FUNCTION adk_tell_of_run();

CREATE FUNCTION adk_tell_of_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM adk_tell_webhooks(NEW.session_id, 'job.ended', NEW.id::text, jsonb_build_object(
        'job_id', NEW.id, 'run_id', NEW.invocation_id, 'call_id', NEW.call_id, 'tool_name', NEW.tool_name,
        'status', NEW.status));
    RETURN NULL;
END $$;

CREATE TRIGGER tell_webhooks AFTER UPDATE OF status ON sessions_app_tooljob FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.status IN ('succeeded', 'failed', 'cancelled'))
    EXECUTE FUNCTION adk_tell_of_job();

CREATE FUNCTION adk_tell_of_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM adk_tell_webhooks(NEW.session_id, 'approval.needed', NEW.call_id, jsonb_build_object(
        'run_id', NEW.invocation_id, 'call_id', NEW.call_id, 'job_id', NEW.job_id, 'kind', NEW.kind,
        'tool_name', NEW.tool_name, 'answered_by', NEW.answered_by));
    RETURN NULL;
END $$;

CREATE TRIGGER tell_webhooks AFTER INSERT ON sessions_app_answerrequest FOR EACH ROW
    EXECUTE FUNCTION adk_tell_of_request();
