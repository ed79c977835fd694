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

-- A vector that is stored while its entry or its passage is erased goes with it: Django would delete in two statements.

ALTER TABLE sessions_app_memoryvector ADD CONSTRAINT memory_vector_of_entry
    FOREIGN KEY (entry_id) REFERENCES sessions_app_memoryentry (id) ON DELETE CASCADE;
ALTER TABLE sessions_app_knowledgevector ADD CONSTRAINT knowledge_vector_of_passage
    FOREIGN KEY (passage_id) REFERENCES sessions_app_knowledgepassage (id) ON DELETE CASCADE;

-- The rows are read with their numbers, so these stay in the table, of which a page has 8160 bytes for rows.

ALTER TABLE sessions_app_memoryvector SET (toast_tuple_target = 8160);
ALTER TABLE sessions_app_knowledgevector SET (toast_tuple_target = 8160);
