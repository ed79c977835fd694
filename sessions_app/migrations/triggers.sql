-- Triggers that write the rows that follow from other rows.

-- An append locks the rows of user and app state and reads from them what a shared key held. Insert both rows with the
-- session, however it is inserted: by a use case, by an import, or in bulk.

CREATE OR REPLACE FUNCTION adk_make_shared_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sessions_app_userstate (app_name, user_id) VALUES (NEW.app_name, NEW.user_id) ON CONFLICT DO NOTHING;
    INSERT INTO sessions_app_appstate (app_name) VALUES (NEW.app_name) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER session_shared_state AFTER INSERT ON sessions_app_session
    FOR EACH ROW EXECUTE FUNCTION adk_make_shared_state();

-- Keep the sum of the sizes of each user's artifacts, however the rows are inserted and deleted.

CREATE OR REPLACE FUNCTION adk_count_artifact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO sessions_app_personusage AS u (user_id, artifact_bytes) VALUES (NEW.user_id, NEW.size)
            ON CONFLICT (user_id) DO UPDATE SET artifact_bytes = u.artifact_bytes + EXCLUDED.artifact_bytes;
    ELSE
        UPDATE sessions_app_personusage SET artifact_bytes = artifact_bytes - OLD.size WHERE user_id = OLD.user_id;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER artifact_bytes AFTER INSERT OR DELETE ON sessions_app_artifact
    FOR EACH ROW EXECUTE FUNCTION adk_count_artifact();

-- Stage the deliveries of webhooks in the transaction of the event that they report: both are stored, or neither.
-- The end of an invocation is frequent, so its two functions first check that any webhook exists.

CREATE OR REPLACE FUNCTION adk_tell_of_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM sessions_app_webhook) THEN
        PERFORM adk_tell_webhooks(NEW.session_id, 'run.ended', NEW.invocation_id, jsonb_build_object(
            'run_id', NEW.invocation_id, 'client_id', NEW.client_id, 'status', NEW.status));
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER tell_webhooks AFTER UPDATE OF status ON sessions_app_invocation FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.status IN ('completed', 'failed', 'cancelled'))
    EXECUTE FUNCTION adk_tell_of_run();

CREATE OR REPLACE FUNCTION adk_tell_of_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM adk_tell_webhooks(NEW.session_id, 'job.ended', NEW.id::text, jsonb_build_object(
        'job_id', NEW.id, 'run_id', NEW.invocation_id, 'call_id', NEW.call_id, 'tool_name', NEW.tool_name,
        'status', NEW.status));
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER tell_webhooks AFTER UPDATE OF status ON sessions_app_tooljob FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.status IN ('succeeded', 'failed', 'cancelled'))
    EXECUTE FUNCTION adk_tell_of_job();

CREATE OR REPLACE FUNCTION adk_tell_of_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM adk_tell_webhooks(NEW.session_id, 'approval.needed', NEW.call_id, jsonb_build_object(
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
        FROM sessions_app_webhook w WHERE w.session_id = NEW.session_id AND w.disabled_at IS NULL;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER tell_of_task AFTER UPDATE OF status ON sessions_app_invocation FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.status NOT IN ('queued', 'running'))
    EXECUTE FUNCTION adk_tell_of_task();

CREATE OR REPLACE TRIGGER tell_of_task AFTER UPDATE OF status ON sessions_app_tooljob FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.status = 'waiting')
    EXECUTE FUNCTION adk_tell_of_task();
