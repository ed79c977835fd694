-- Words of events for searches. The sweep of the figures stores them in a table after the append: an index of the events
-- themselves would make each append dearer.

-- Return what an event says besides its text, as JSON values one after the other: error, names, arguments and results of
-- calls, code and its output, and names of files. Cut: a result may have megabytes.

CREATE OR REPLACE FUNCTION adk_event_details(body jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN left(concat_ws(' ',
        body -> 'errorCode',
        body -> 'errorMessage',
        (
            SELECT string_agg(concat_ws(' ',
                -- The answer to a request for credentials is masked as a whole.
                said -> 'name', said -> 'args', CASE WHEN said ->> 'name' IS DISTINCT FROM 'adk_request_credential' THEN said -> 'response' END,
                said -> 'code', said -> 'output', said -> 'displayName', said -> 'fileUri'
            ), ' ')
            FROM jsonb_path_query(body, '$.content.parts[*].*') said
        ),
        nullif(jsonb_path_query_array(body, '$.actions.artifactDelta.keyvalue().key', '{}', true), '[]')
    ), 20000);
END $$;

-- Return the words of a text. Every mark of ASCII separates words: PostgreSQL would take report-7.csv for the name of a
-- host, and neither "report" nor "csv" would find it. Searches separate their words alike.

CREATE OR REPLACE FUNCTION adk_words(text text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN to_tsvector('pg_catalog.simple', translate(text, '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32)));
END $$;

-- Return the words of a text with the weight A, and those of the details with B. Both are cut for PostgreSQL's limit on
-- the words of a row, and before the end of what a reader checks for secrets: nobody finds a part of a secret.
-- An escape of JSON, such as \n, would be a part of the word behind it.

CREATE OR REPLACE FUNCTION adk_event_words(text text, details text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN setweight(adk_words(left(coalesce(text, ''), 100000)), 'A')
        || setweight(adk_words(regexp_replace(left(details, 19000), '\\(u[0-9a-f]{4}|.)', ' ', 'g')), 'B');
END $$;
