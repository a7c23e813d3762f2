DO $$
BEGIN
  IF to_regclass('webhook_inbox_processed') IS NULL OR to_regclass('webhook_inbox_newest') IS NULL
    OR to_regclass('webhook_inbox_schema') IS NULL THEN
    PERFORM pg_advisory_xact_lock(7021926011);
    CREATE TABLE IF NOT EXISTS webhook_inbox_schema (version integer NOT NULL);
    CREATE TABLE IF NOT EXISTS webhook_inbox_processed (
      event text PRIMARY KEY,
      processed timestamptz NOT NULL DEFAULT now()
    );
    CREATE TABLE IF NOT EXISTS webhook_inbox_newest (
      key text PRIMARY KEY,
      created timestamptz NOT NULL,
      event text COLLATE "C" NOT NULL
    );
  END IF;
  IF (SELECT max(version) FROM webhook_inbox_schema) > 1 THEN
    RAISE EXCEPTION
      'The webhook_inbox tables are of a newer version: update @loyalty-cards/webhook-inbox.';
  END IF;
  IF NOT EXISTS (SELECT FROM webhook_inbox_schema) THEN
    INSERT INTO webhook_inbox_schema (version) VALUES (1);
  END IF;
END $$;
