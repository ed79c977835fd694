-- Evidence that an event log was not altered: each row carries a hash over the hash of the row before it.

CREATE FUNCTION adk_event_hash(previous bytea, session uuid, seq bigint, body jsonb, before jsonb) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT sha256(
        coalesce(previous, '') || convert_to(
            concat_ws(E'\n', session::text, seq::text, body::text, coalesce(before::text, '')), 'UTF8'
        )
    )
$$;

-- Events are never changed. Erasure, which is a use case of its own, says so with `SET LOCAL adk.erasing = 'on'`.

CREATE FUNCTION adk_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('adk.erasing', true) = 'on' THEN
        RETURN coalesce(NEW, OLD);
    END IF;
    RAISE EXCEPTION 'Events are append-only: % of event % in session % is refused', TG_OP, OLD.seq, OLD.session_id
        USING ERRCODE = 'restrict_violation';
END
$$;
