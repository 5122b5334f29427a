-- order: 620
-- title: partitions held back by a transaction that never ends
-- severity: warning
-- claim: A last stable offset below the high watermark moves on within the longest time that a transaction may take.
-- unverifiable: looked-once, a transaction is open and no earlier look was long enough ago; lso-unknown, the last
--   stable offset or the high watermark could not be read.
-- remedy: Find the producer with kafka-transactions.sh find-hanging, and abort its transaction; until then
--   read_committed workers stand still.
WITH limits AS (
	SELECT coalesce((SELECT CAST(value AS INTEGER) FROM setting WHERE run_id = :run
		AND name = 'transaction.max.timeout.ms'), 900000) AS max_ms
), mine AS (
	SELECT pipeline.name AS pipeline, topic.incarnation_id, horizon.*
	FROM pipeline
	JOIN topic ON topic.pipeline_id = pipeline.pipeline_id AND topic.role = 'source'
	JOIN horizon ON horizon.topic_id = topic.topic_id
	WHERE pipeline.run_id = :run AND pipeline.isolation = 'read_committed'
		-- An empty log has nothing that could be held back.
		AND coalesce(horizon.high_watermark > coalesce(horizon.log_start_before_commit, horizon.log_start), 1)
), judged AS (
	SELECT mine.pipeline, mine.partition,
		CASE
		WHEN mine.last_stable IS NULL OR mine.high_watermark IS NULL THEN 'lso-unknown'
		WHEN mine.last_stable >= mine.high_watermark THEN NULL
		WHEN EXISTS (
			SELECT 1 FROM topic AS earlier
			JOIN horizon AS look ON look.topic_id = earlier.topic_id AND look.partition = mine.partition
			WHERE earlier.incarnation_id = mine.incarnation_id AND earlier.run_id <= :run
				AND look.last_stable = mine.last_stable
				AND look.high_watermark > look.last_stable
				AND mine.last_stable_us - look.last_stable_us > 1000 * (SELECT max_ms FROM limits))
					THEN NULL
		ELSE 'looked-once'
		END AS reason
	FROM mine)
SELECT pipeline.name AS pipeline, judged.reason, count(judged.partition) AS n
FROM pipeline
LEFT JOIN judged ON judged.pipeline = pipeline.name
WHERE pipeline.run_id = :run AND pipeline.isolation = 'read_committed'
GROUP BY 1, 2;

WITH limits AS (
	SELECT coalesce((SELECT CAST(value AS INTEGER) FROM setting WHERE run_id = :run
		AND name = 'transaction.max.timeout.ms'), 900000) AS max_ms
), stuck AS (
	SELECT pipeline.name AS pipeline, topic.pipeline_id, topic.topic, now.partition, now.last_stable,
		now.last_stable_us, now.high_watermark,
		min(look.last_stable_us) AS first_us
	FROM horizon AS now
	JOIN topic USING (topic_id)
	JOIN pipeline USING (pipeline_id)
	JOIN topic AS earlier ON earlier.incarnation_id = topic.incarnation_id AND earlier.run_id <= :run
	JOIN horizon AS look ON look.topic_id = earlier.topic_id AND look.partition = now.partition
		AND look.last_stable = now.last_stable
		AND look.high_watermark > look.last_stable
	WHERE now.run_id = :run AND topic.role = 'source' AND pipeline.isolation = 'read_committed'
		AND now.last_stable < now.high_watermark
	GROUP BY now.topic_id, now.partition)
SELECT pipeline, topic, partition, last_stable AS offset, NULL AS key, NULL AS redis_key, NULL AS identity,
	printf('The last stable offset of partition %d of %s has stood at %d for %d s, below the high watermark %d.',
		partition, topic, last_stable,
		(last_stable_us - first_us) / 1000000, high_watermark) AS detail,
	json_object('last_stable', last_stable, 'high_watermark', high_watermark, 'since',
		strftime('%Y-%m-%dT%H:%M:%fZ', first_us / 1000 / 1000.0, 'unixepoch'), 'limit_ms',
			(SELECT max_ms FROM limits)) AS evidence
FROM stuck
WHERE last_stable_us - first_us > 1000 * (SELECT max_ms FROM limits)
ORDER BY pipeline_id, topic, partition;
