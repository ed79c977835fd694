-- Sessions `start` to `end` - 1 of the sample data. All values follow from the seed, the time and the number of the
-- session.

CREATE TEMPORARY TABLE sample AS
SELECT n, md5(%(seed)s || ':' || n)::uuid AS id,
    (%(people)s::bigint[])[1 + d.dice[1] %% cardinality(%(people)s::bigint[])] AS user_id,
    (ARRAY['help_desk', 'help_desk', 'help_desk', 'shop', 'travel'])[1 + d.dice[2] %% 5] AS app,
    date_trunc('minute', %(time)s::timestamptz) - ((n * 37) %% 120) * interval '1 day' - (d.dice[3] %% 64800 + 3600) * interval '1 second' AS began,
    1000 + d.dice[4] %% 90000 AS ordered,
    (ARRAY['lamp', 'desk', 'chair', 'kettle', 'bicycle', 'printer', 'window', 'sofa'])[1 + d.dice[5] %% 8] AS item,
    (ARRAY['is broken', 'has not arrived', 'has the wrong colour', 'makes a noise', 'came twice', 'is too small'])[1 + d.dice[6] %% 6] AS problem,
    (ARRAY['Rome', 'Lyon', 'Oslo', 'Porto', 'Ghent', 'Graz', 'Turku', 'Leeds'])[1 + d.dice[7] %% 8] AS city,
    d.dice[8] %% 40 = 0 AS fails, d.dice[9] %% 5 = 0 AS has_job, d.dice[10] %% 20 AS opinion, d.dice[11] %% 900 AS spread
FROM generate_series(%(start)s::int, %(end)s::int - 1) AS n, LATERAL (
    SELECT array_agg(('x' || substr(md5(%(seed)s || ':' || n || ':' || k), 1, 7))::bit(28)::int ORDER BY k) AS dice
    FROM generate_series(1, 11) AS k
) AS d;

CREATE TEMPORARY TABLE sample_event AS
SELECT s.id AS session_id, seq, jsonb_strip_nulls(jsonb_build_object(
    'id', md5(s.id || ':' || seq), 'invocationId', 'e-' || left(md5(s.id || '/' || turn), 32),
    'author', CASE WHEN seq IN (1, 5, 9) THEN 'user' ELSE s.app END,
    'timestamp', extract(epoch FROM s.began) + seq * (3 + s.spread / 100.0),
    'modelVersion', CASE WHEN seq NOT IN (1, 3, 5, 7, 9) THEN 'gemini-2.5-flash' END,
    'usageMetadata', CASE WHEN seq NOT IN (1, 3, 5, 7, 9) THEN
        jsonb_build_object('promptTokenCount', 300 + seq * 110 + s.spread, 'candidatesTokenCount', 20 + s.spread / 9) END,
    'errorCode', CASE WHEN s.fails AND seq = 10 THEN 'RESOURCE_EXHAUSTED' END,
    'errorMessage', CASE WHEN s.fails AND seq = 10 THEN 'The model is overloaded. Try again later.' END,
    'content', CASE WHEN NOT (s.fails AND seq = 10) THEN
        jsonb_build_object('role', CASE WHEN seq IN (1, 5, 9) THEN 'user' ELSE 'model' END, 'parts', jsonb_build_array(part)) END,
    'actions', CASE
        WHEN seq = 3 THEN jsonb_build_object('stateDelta', jsonb_build_object('order', s.ordered, 'item', s.item))
        WHEN seq = 7 THEN jsonb_build_object('stateDelta', jsonb_build_object('refunded', true))
        ELSE '{}' END
)) AS body, CASE WHEN seq IN (3, 7) THEN '{}'::jsonb END AS before
FROM sample s, generate_series(1, 10) AS seq, LATERAL (SELECT (seq - 1) / 4 AS turn) t, LATERAL (SELECT CASE seq
    WHEN 1 THEN jsonb_build_object('text', format('My %%s from order %%s %%s. I live in %%s.', s.item, s.ordered, s.problem, s.city))
    WHEN 2 THEN jsonb_build_object('functionCall', jsonb_build_object(
        'id', 'call-' || left(md5(s.id || '?2'), 24), 'name', 'look_up_order', 'args', jsonb_build_object('order', s.ordered)))
    WHEN 3 THEN jsonb_build_object('functionResponse', jsonb_build_object(
        'id', 'call-' || left(md5(s.id || '?2'), 24), 'name', 'look_up_order',
        'response', jsonb_build_object('item', s.item, 'price', 20 + s.spread, 'sent_to', s.city)))
    WHEN 4 THEN jsonb_build_object('text', format('I am sorry that the %%s %%s. Shall I refund %%s euros for order %%s?', s.item, s.problem, 20 + s.spread, s.ordered))
    WHEN 5 THEN jsonb_build_object('text', 'Yes, please refund it.')
    WHEN 6 THEN jsonb_build_object('functionCall', jsonb_build_object(
        'id', 'call-' || left(md5(s.id || '?6'), 24), 'name', CASE WHEN s.has_job THEN 'write_report' ELSE 'refund' END,
        'args', jsonb_build_object('order', s.ordered, 'euros', 20 + s.spread)))
    WHEN 7 THEN jsonb_build_object('functionResponse', jsonb_build_object(
        'id', 'call-' || left(md5(s.id || '?6'), 24), 'name', CASE WHEN s.has_job THEN 'write_report' ELSE 'refund' END,
        'response', CASE
            WHEN s.opinion = 7 AND NOT s.has_job THEN jsonb_build_object('error', format('Order %%s was refunded before.', s.ordered))
            WHEN s.opinion = 8 AND NOT s.has_job THEN jsonb_build_object('error', 'The payment service did not answer in time.')
            ELSE jsonb_build_object('status', 'done', 'approved_by', 'finance') END))
    WHEN 8 THEN jsonb_build_object('text', format('It is done: %%s euros are on their way to you in %%s.', 20 + s.spread, s.city))
    WHEN 9 THEN jsonb_build_object('text', 'Thank you. When will the money be there?')
    ELSE jsonb_build_object('text', 'In three to five days. Is there anything else I can do for you?')
END AS part) p;

INSERT INTO sessions_app_session
    (id, app_name, user_id, key, title, state, initial_state, last_seq, seen_seq, created_at, updated_at,
    last_event_at)
SELECT s.id, s.app, s.user_id, s.id::text, left(format('My %%s from order %%s %%s', s.item, s.ordered, s.problem), 80),
    jsonb_build_object('order', s.ordered, 'item', s.item, 'refunded', true), '{}', 10, 10,
    s.began, s.began + interval '90 seconds', s.began + interval '90 seconds'
-- In the order of the apps: other processes add their states at the same time.
FROM sample s ORDER BY s.app;

INSERT INTO sessions_app_invocation
    (session_id, invocation_id, client_id, message, status, attempts, error_code, error_message, created_at, started_at, finished_at)
SELECT s.id, 'e-' || left(md5(s.id || '/' || turn), 32), 'sample-' || turn, '{"role": "user", "parts": []}',
    CASE WHEN s.fails AND turn = 2 THEN 'failed' ELSE 'completed' END, 1,
    CASE WHEN s.fails AND turn = 2 THEN 'RESOURCE_EXHAUSTED' ELSE '' END,
    CASE WHEN s.fails AND turn = 2 THEN 'The model is overloaded. Try again later.' ELSE '' END,
    at, at, at + (2 + s.spread / 100) * interval '1 second'
FROM sample s, generate_series(0, 2) AS turn, LATERAL (SELECT s.began + turn * interval '30 seconds' AS at) t;

INSERT INTO sessions_app_tooljob
    (id, session_id, invocation_id, call_id, tool_name, task_name, agent_name, args, status, attempts, progress_done,
    progress_total, result, error, created_at, started_at, finished_at, delivered_at, answers)
SELECT md5(s.id || '!')::uuid, s.id, 'e-' || left(md5(s.id || '/1'), 32), 'call-' || left(md5(s.id || '?6'), 24),
    'write_report', 'write_report', s.app, jsonb_build_object('order', s.ordered),
    CASE WHEN s.spread %% 10 = 0 THEN 'failed' ELSE 'succeeded' END, 1 + s.spread %% 2, 8, 8,
    CASE WHEN s.spread %% 10 <> 0 THEN '{"pages": 3}'::jsonb END,
    CASE WHEN s.spread %% 10 = 0 THEN format('The printer in %%s is out of paper.', s.city) ELSE '' END,
    s.began, s.began, s.began + interval '20 seconds', s.began + interval '21 seconds', '[]'
FROM sample s WHERE s.has_job;

-- After the invocations, because their actors are part of the hashes of events.
INSERT INTO sessions_app_event (session_id, seq, body, before)
SELECT session_id, seq, body, before FROM sample_event ORDER BY body -> 'timestamp';

INSERT INTO sessions_app_feedback (session_id, user_id, seq, rating, comment, created_at, updated_at)
SELECT s.id, s.user_id, 8, CASE WHEN s.opinion = 0 THEN 'bad' ELSE 'good' END,
    CASE WHEN s.opinion = 0 THEN 'It took too long.' ELSE '' END, s.began, s.began
FROM sample s WHERE s.opinion < 2;
