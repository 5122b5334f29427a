-- The two strata of a source topic: how many keys were looked at, how many of these the checks on a fence could decide, and
-- how many were bad (an error of one of these checks; not known where the index does not keep all findings). Undecided keys
-- count against either stratum.
WITH stratum (name, bit) AS (VALUES ('main', 1), ('recent', 2)),
sampled AS (
	SELECT topic.topic_id, topic.topic, topic.main_threshold, topic.recent_threshold
	FROM pipeline
	JOIN topic USING (pipeline_id)
	WHERE pipeline.run_id = :run AND pipeline.name = :pipeline AND topic.topic = :topic AND topic.role = 'source'
),
judged AS (
	SELECT iif(strata & 1 AND hash < main_threshold, 1, 0) | iif(strata & 2 AND hash < recent_threshold, 2, 0) AS strata,
		fence.key IN (
			SELECT key FROM finding
			WHERE run_id = :run AND pipeline = :pipeline AND name >= 'fence-' AND name < 'fence.'
				AND severity = 'error' AND coalesce(topic, :topic) = :topic) AS bad
	FROM sampled
	JOIN fence USING (topic_id)
),
looks AS MATERIALIZED (
	SELECT strata, bad, count(*) AS keys
	FROM judged
	GROUP BY strata, bad
	UNION ALL
	SELECT strata, bad, keys
	FROM sampled
	JOIN sample_count USING (topic_id)
),
undecided AS (
	SELECT coalesce(sum(subjects), 0) AS keys
	FROM unverifiable
	WHERE run_id = :run AND pipeline = :pipeline AND name IN ('fence-missing', 'fence-regressed')
),
cut AS (
	SELECT count(*) AS checks
	FROM check_result
	WHERE run_id = :run AND pipeline = :pipeline AND name >= 'fence-' AND name < 'fence.' AND kept < findings
),
counted AS (
	SELECT stratum.name, stratum.bit,
		CASE stratum.bit WHEN 1 THEN main_threshold ELSE recent_threshold END AS threshold,
		(SELECT coalesce(sum(keys), 0) FROM looks WHERE strata & bit) AS keys,
		CASE WHEN cut.checks = 0 THEN (SELECT coalesce(sum(keys), 0) FROM looks WHERE strata & bit AND bad) END AS bad
	FROM stratum, sampled, cut
)
SELECT name AS stratum, threshold, coalesce(threshold = 9223372036854775807, 0) AS "whole?", counted.keys,
	max(counted.keys - undecided.keys, 0) AS decided, bad
FROM counted, undecided
ORDER BY bit
