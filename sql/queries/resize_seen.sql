-- Where each partition of a topic (?1) ended when producers had long known of more than ?2 partitions: in a run that
-- began five minutes or more after another one had seen so many; and when that was. What came later was written by those
-- who should have known. Record times, which producers choose, play no part in it.
WITH look AS (
	SELECT earlier.topic_id, earlier.partitions, run.started_us, run.finished_us
	FROM topic AS now
	JOIN topic AS earlier USING (incarnation_id)
	JOIN run ON run.run_id = earlier.run_id
	WHERE now.topic_id = ?1 AND earlier.run_id < now.run_id
), known (us) AS (
	SELECT min(finished_us) FROM look WHERE partitions > ?2)
SELECT horizon.partition,
	min(max(horizon.high_watermark, coalesce(horizon.last_high_watermark, horizon.high_watermark))),
	known.us / 1000
FROM known
JOIN look ON look.started_us >= known.us + 300000000
JOIN horizon USING (topic_id)
WHERE horizon.high_watermark IS NOT NULL
GROUP BY horizon.partition
