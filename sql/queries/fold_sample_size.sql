-- What the sample of a topic would take: keys below the main threshold, keys of the recent stratum alone, bytes of both.
SELECT coalesce(sum(in_main), 0), coalesce(sum(NOT in_main), 0), coalesce(sum(size), 0)
FROM (SELECT (strata & 1) AND hash < ?2 AS in_main, (strata & 2) AND hash < ?3 AS in_recent, length(key) AS size FROM fence WHERE topic_id = ?1)
WHERE in_main OR in_recent
