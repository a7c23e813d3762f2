UPDATE issuing_outbox_entries SET state = 'unknown', rank = NULL, lease = NULL
WHERE state = 'waiting';
