DO $$
BEGIN
  PERFORM pg_advisory_xact_lock(7021926012);
  IF (SELECT max(version) FROM issuing_outbox_schema) = 1 THEN
    ALTER TABLE issuing_outbox_entries ADD COLUMN traceparent text;
    INSERT INTO issuing_outbox_schema (version) VALUES (2);
  END IF;
END $$;
