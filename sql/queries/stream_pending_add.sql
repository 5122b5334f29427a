-- A block of rows, which the virtual table pending_rows shows: binding them one by one costs as much as writing them.
INSERT INTO pending (group_id, entry, consumer_id, consumer, idle_ms, deliveries, present, content)
SELECT ?1, entry, consumer_id, consumer, idle_ms, deliveries, present, content FROM pending_rows(?2)
