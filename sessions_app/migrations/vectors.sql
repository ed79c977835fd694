-- The vectors of a user's entries are in one part of the index, so that a search looks at few vectors of others.
-- `models/memory` computes the same.

CREATE OR REPLACE FUNCTION adk_part_of(owner text) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT (get_byte(sha256(convert_to(owner, 'UTF8')), 0) % 32)::smallint
$$;

CREATE OR REPLACE FUNCTION adk_set_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.part = coalesce((SELECT adk_part_of(user_id::text) FROM sessions_app_memoryentry WHERE id = NEW.entry_id), 0);
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER memory_vector_part BEFORE INSERT ON sessions_app_memoryvector
    FOR EACH ROW EXECUTE FUNCTION adk_set_part();
