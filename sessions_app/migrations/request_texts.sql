-- Deletes texts that no session refers to any more, however the references were deleted. An append that adds a
-- reference holds the same lock in shared mode: it either finds the text, and the text stays, or stores it anew.
CREATE FUNCTION adk_drop_request_texts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('adk:texts'));
    DELETE FROM sessions_app_requesttext t USING gone WHERE t.id = gone.text_id
        AND NOT EXISTS (SELECT 1 FROM sessions_app_sessiontext s WHERE s.text_id = gone.text_id);
    RETURN NULL;
END $$;

CREATE TRIGGER session_text_gone AFTER DELETE ON sessions_app_sessiontext REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION adk_drop_request_texts();
