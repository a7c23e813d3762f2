DO $$
BEGIN
  PERFORM pg_advisory_xact_lock(7021926011);
  CREATE TABLE IF NOT EXISTS webhook_inbox_schema (version integer NOT NULL);
  IF (SELECT max(version) FROM webhook_inbox_schema) > 1 THEN
    RAISE EXCEPTION 'The webhook_inbox tables are of a newer version: update @loyalty-cards/webhook-inbox.';
  END IF;
  CREATE TABLE IF NOT EXISTS webhook_inbox_processed (
    event_id text PRIMARY KEY,
    processed_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE TABLE IF NOT EXISTS webhook_inbox_newest (
    key text PRIMARY KEY,
    created_at timestamptz NOT NULL,
    event_id text COLLATE "C" NOT NULL
  );
  IF NOT EXISTS (SELECT FROM webhook_inbox_schema) THEN
    INSERT INTO webhook_inbox_schema (version) VALUES (1);
  END IF;
END $$;
