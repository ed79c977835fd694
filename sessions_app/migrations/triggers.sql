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
