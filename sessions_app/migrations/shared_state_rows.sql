-- An append reads what a shared key held from the row that it locks. So the rows of user and app state exist as soon
-- as a session does, however the session was inserted: by a use case, by an import, or in bulk.

CREATE FUNCTION adk_make_shared_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sessions_app_userstate (app_name, user_id) VALUES (NEW.app_name, NEW.user_id) ON CONFLICT DO NOTHING;
    INSERT INTO sessions_app_appstate (app_name) VALUES (NEW.app_name) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE TRIGGER session_shared_state AFTER INSERT ON sessions_app_session
    FOR EACH ROW EXECUTE FUNCTION adk_make_shared_state();

INSERT INTO sessions_app_userstate (app_name, user_id)
    SELECT DISTINCT app_name, user_id FROM sessions_app_session ORDER BY app_name, user_id ON CONFLICT DO NOTHING;
INSERT INTO sessions_app_appstate (app_name)
    SELECT DISTINCT app_name FROM sessions_app_session ORDER BY app_name ON CONFLICT DO NOTHING;
