-- Removes the samples of runs that no check will look at again: of each pipeline and topic, all but those of the newest
-- ?1 runs that sampled the whole topic and were checked. Checks compare with the newest earlier one alone; runs of
-- --since sample a part, and count for nothing here. What reports tell of samples is counted first.
CREATE TEMP TABLE stale_topic AS
WITH whole AS (
	SELECT pipeline.name, topic.topic, topic.run_id,
		row_number() OVER (PARTITION BY pipeline.name, topic.topic ORDER BY topic.run_id DESC) AS nth
	FROM topic
	JOIN pipeline USING (pipeline_id)
	JOIN run ON run.run_id = topic.run_id
	WHERE topic.role = 'source' AND topic.main_threshold IS NOT NULL AND run.since_us IS NULL
		AND run.reached IN ('checked', 'reported'))
SELECT topic.topic_id, topic.topic, topic.run_id, pipeline.name AS pipeline, topic.main_threshold,
	topic.recent_threshold
FROM whole
JOIN topic ON topic.topic = whole.topic AND topic.role = 'source' AND topic.run_id < whole.run_id
JOIN pipeline ON pipeline.pipeline_id = topic.pipeline_id AND pipeline.name = whole.name
WHERE whole.nth = ?1 AND EXISTS (SELECT 1 FROM fence WHERE fence.topic_id = topic.topic_id);

CREATE TEMP TABLE stale_bad (topic_id INTEGER, key BLOB, PRIMARY KEY (topic_id, key)) WITHOUT ROWID;
INSERT OR IGNORE INTO stale_bad
SELECT stale.topic_id, finding.key
FROM stale_topic AS stale
JOIN finding ON finding.run_id = stale.run_id AND finding.pipeline = stale.pipeline
WHERE finding.name >= 'fence-' AND finding.name < 'fence.' AND finding.severity = 'error'
	AND coalesce(finding.topic, stale.topic) = stale.topic AND finding.key IS NOT NULL;

INSERT INTO sample_count (topic_id, strata, bad, keys)
SELECT stale.topic_id,
	iif(strata & 1 AND hash < main_threshold, 1, 0) | iif(strata & 2 AND hash < recent_threshold, 2, 0),
	EXISTS (SELECT 1 FROM stale_bad WHERE stale_bad.topic_id = stale.topic_id AND stale_bad.key = fence.key),
	count(*)
FROM stale_topic AS stale
JOIN fence USING (topic_id)
GROUP BY 1, 2, 3;

DELETE FROM fence WHERE topic_id IN (SELECT topic_id FROM stale_topic);

DROP TABLE temp.stale_bad;
DROP TABLE temp.stale_topic;
