-- A sealed case file takes nothing more. Under the lock one statement at a time looks and inserts, and being volatile, the
-- function sees what the others have inserted.

CREATE OR REPLACE FUNCTION adk_add_to_case() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('adk:case:' || NEW.case_id, 0));
    IF EXISTS (SELECT FROM {schema}.sessions_app_caseentry WHERE case_id = NEW.case_id AND kind = 'seal') THEN
        RAISE EXCEPTION 'Case file % is sealed', NEW.case_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER add_case_item BEFORE INSERT ON sessions_app_caseitem
    FOR EACH ROW EXECUTE FUNCTION adk_add_to_case();
CREATE OR REPLACE TRIGGER add_case_entry BEFORE INSERT ON sessions_app_caseentry
    FOR EACH ROW EXECUTE FUNCTION adk_add_to_case();
