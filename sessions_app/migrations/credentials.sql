-- Credentials that older versions stored as they came: keep only that one was given.
UPDATE sessions_app_invocation i SET message = jsonb_set(i.message, '{parts}', (
    SELECT jsonb_agg(
        CASE WHEN part -> 'functionResponse' ->> 'name' = 'adk_request_credential'
        THEN jsonb_set(part, '{functionResponse,response}', '{"credentialKey": null, "given": false}')
        ELSE part END ORDER BY position)
    FROM jsonb_array_elements(i.message -> 'parts') WITH ORDINALITY AS parts(part, position)
))
WHERE jsonb_typeof(i.message -> 'parts') = 'array'
    AND jsonb_path_exists(i.message, '$.parts[*].functionResponse.name ? (@ == "adk_request_credential")');
