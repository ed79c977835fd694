-- Insert a delivery for each webhook that asked for the event: webhooks of the session's user, and webhooks for a group
-- of which the user is a member. Called in the transaction of the event, so both are stored or neither. The payload has
-- ids and no text of the conversation. PL/pgSQL keeps the plans of the queries. A webhook whose deletion is under way
-- is waited for and left out: otherwise the check of the foreign key would fail, and with it the event.

CREATE OR REPLACE FUNCTION adk_stage_deliveries(session uuid, event_type text, subject_id text, details jsonb) RETURNS void LANGUAGE plpgsql AS $$
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
    SELECT gen_random_uuid(), w.id, event_type, left(subject_id, 160), jsonb_build_object(
        'type', event_type, 'timestamp', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'data', jsonb_build_object('session_id', s.id, 'app_name', s.app_name, 'user_id', s.user_id::text) || details
    )
    FROM sessions_app_session s JOIN sessions_app_webhook w ON w.id = ANY(hooks)
    WHERE s.id = session AND s.deleted_at IS NULL AND w.disabled_at IS NULL AND event_type = ANY(w.events)
    FOR KEY SHARE OF w;
END $$;

-- The end of an invocation is frequent, so its two functions first check that any webhook exists.

CREATE OR REPLACE FUNCTION adk_tell_of_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM sessions_app_webhook) THEN
        PERFORM adk_stage_deliveries(NEW.session_id, 'run.ended', NEW.invocation_id, jsonb_build_object(
            'run_id', NEW.invocation_id, 'client_id', NEW.client_id, 'status', NEW.status));
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER tell_webhooks AFTER UPDATE OF status ON sessions_app_invocation FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.status IN ('completed', 'failed', 'cancelled'))
    EXECUTE FUNCTION adk_tell_of_run();

CREATE OR REPLACE FUNCTION adk_tell_of_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM adk_stage_deliveries(NEW.session_id, 'job.ended', NEW.id::text, jsonb_build_object(
        'job_id', NEW.id, 'run_id', NEW.invocation_id, 'call_id', NEW.call_id, 'tool_name', NEW.tool_name,
        'status', NEW.status));
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER tell_webhooks AFTER UPDATE OF status ON sessions_app_tooljob FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.status IN ('succeeded', 'failed', 'cancelled'))
    EXECUTE FUNCTION adk_tell_of_job();

CREATE OR REPLACE FUNCTION adk_tell_of_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM adk_stage_deliveries(NEW.session_id, 'approval.needed', NEW.call_id, jsonb_build_object(
        'run_id', NEW.invocation_id, 'call_id', NEW.call_id, 'job_id', NEW.job_id, 'kind', NEW.kind,
        'tool_name', NEW.tool_name, 'answered_by', NEW.answered_by));
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER tell_webhooks AFTER INSERT ON sessions_app_answerrequest FOR EACH ROW
    EXECUTE FUNCTION adk_tell_of_request();

-- Stage a delivery for each push notification configured in the session: one of its A2A tasks may be at rest.

CREATE OR REPLACE FUNCTION adk_tell_of_task() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM sessions_app_webhook WHERE session_id = NEW.session_id) THEN
        INSERT INTO sessions_app_webhookdelivery (message_id, webhook_id, event, subject, payload)
        SELECT gen_random_uuid(), w.id, 'task.changed', w.task_id, '{"data": {}}'
        FROM sessions_app_webhook w WHERE w.session_id = NEW.session_id AND w.disabled_at IS NULL
        FOR KEY SHARE OF w;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER tell_of_task AFTER UPDATE OF status ON sessions_app_invocation FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.status NOT IN ('queued', 'running'))
    EXECUTE FUNCTION adk_tell_of_task();

CREATE OR REPLACE TRIGGER tell_of_task AFTER UPDATE OF status ON sessions_app_tooljob FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.status = 'waiting')
    EXECUTE FUNCTION adk_tell_of_task();
