-- What is wrong with each sampled key, decided in this one place; the files fence-*.sql only tell it. For each claim a
-- column says
--     NULL     the key is no subject of the claim
--     ok       the claim holds
--     fault    it is broken
--     other    it cannot be decided, and this is the reason
-- and `fault` names the first claim that is broken, so that one fault makes one finding: later claims take the key for
-- no subject. A pipeline whose key mapping is broken has no keys here.

CREATE TEMP TABLE fenced_topic (
	topic_id INTEGER PRIMARY KEY,
	pipeline TEXT, topic TEXT, partitioner TEXT, partitions INTEGER, seen_us INTEGER, retention_ms INTEGER, cleanup_policy TEXT,
	no_home TEXT, state TEXT, counted INTEGER, deletes INTEGER, committed_only INTEGER, silent INTEGER, rejecting INTEGER,
		expires_ms INTEGER,
	replica_behind INTEGER, incomplete TEXT, dlq TEXT,
	unread INTEGER                          -- Redis keys under the template that no record key gives
);
INSERT INTO fenced_topic
SELECT topic.topic_id, pipeline.name, topic.topic, pipeline.partitioner, topic.partitions,
	(SELECT max(horizon.high_watermark_us) FROM horizon WHERE horizon.topic_id = topic.topic_id),
	topic.retention_ms, topic.cleanup_policy,
	-- Why a key has no home.
	iif(topic.partitions IS NULL, 'partitions-unknown', 'no-home'),
	pipeline.state, pipeline.state IN ('count', 'sum'), pipeline.tombstones = 'delete',
		pipeline.isolation = 'read_committed',
	pipeline.rejects = 'silent', pipeline.rejects = 'dlq', pipeline.expires_ms,
		coalesce(pipeline.replica <> 'passed', 0),
	topic_state.incomplete, topic_state.dlq, topic.redis_keys_unread
FROM topic
JOIN pipeline USING (pipeline_id)
JOIN topic_state USING (topic_id)
WHERE topic.run_id = ?1 AND topic.role = 'source' AND pipeline.redis IS NOT NULL AND pipeline.mapping <> 'broken';

-- Everything that decides about a key, in one row. Here and below, LIMIT -1 under a WHERE keeps SQLite from putting
-- each expression wherever its name stands, which would decide every claim a dozen times.
CREATE TEMP VIEW fence_base AS
SELECT s.state_id, s.topic_id, t.pipeline, t.partitions, t.no_home, t.seen_us, t.retention_ms, t.cleanup_policy, t.state,
	t.counted, t.deletes,
	t.committed_only, t.silent, t.rejecting, t.expires_ms, t.replica_behind, t.incomplete, t.dlq,
	f.fence_id, f.present, f.present AND f.type IS NULL AND f.malformed IS NULL AS well_formed,
	f.partition, f.offset, f.value_hash AS stored_hash, f.value_number AS stored_number, f.sampled_us,
		f.sampled_us / 1000 AS sampled_ms,
	CASE
	WHEN f.ttl_ms >= 0 AND f.field_ttl_ms >= 0 THEN min(f.ttl_ms, f.field_ttl_ms)
	WHEN f.ttl_ms >= 0 THEN f.ttl_ms
	WHEN f.field_ttl_ms >= 0 THEN f.field_ttl_ms
	END AS ttl,
	s.home, s.records, s.legal_partitions, s.newest_ms, s.elsewhere, s.fence_legal, s.at_fence, s.fence_ms,
		s.fence_tombstone,
	s.home_records, s.home_offset, s.home_ms, s.home_lost, s.home_tombstone, s.home_tombstone_any,
	s.older, s.older_offset, s.older_ms, s.older_unsure, s.older_lost, s.older_tombstone,
	s.applied, s.applied_sum, s.value_hash, s.rejected,
	s.unproven,
	-- The partition count was read before the key was sampled, and the fence stands where nobody had read yet:
	-- partitions may have been added in between, and with them another home.
	f.sampled_us > t.seen_us AND (f.partition >= t.partitions OR s.at_fence = 'unstable') AS late,
	CASE
	WHEN s.home IS NULL THEN t.no_home
	WHEN s.unproven IS NULL THEN NULL
	WHEN coalesce(unproven.covered, 0) = 0 THEN 'not-replayed'
	ELSE coalesce(unproven.reason, 'no-horizon')
	END AS doubt,
	-- Records may have come after the history was read and before Redis was asked; also where that is not known.
	coalesce(home.last_high_watermark > home.indexed_end, 1) AND coalesce(f.sampled_us > home.last_stable_us, 1)
		OR s.older IS NOT NULL AND coalesce(older.last_high_watermark > older.indexed_end, 1)
		AND coalesce(f.sampled_us > older.last_stable_us, 1)
		AS tail_unread,
	coalesce(standing.last_high_watermark > standing.indexed_end, 1)
		AND coalesce(f.sampled_us > standing.last_stable_us, 1)
		AS standing_unread,
	home_state.hole_end AS home_hole_end, older_state.hole_end AS older_hole_end,
	max(0, home.high_watermark_us / 1000 - coalesce(home_state.waiting_ms,
		home.high_watermark_us / 1000)) AS lag_ms,
	standing.last_high_watermark, standing.end_offset AS standing_end, standing_state.from_complete
FROM fence_state AS s
CROSS JOIN fenced_topic AS t USING (topic_id)
LEFT JOIN fence AS f ON f.fence_id = s.state_id
LEFT JOIN horizon AS home ON home.topic_id = s.topic_id AND home.partition = s.home
LEFT JOIN partition_state AS home_state ON home_state.topic_id = s.topic_id AND home_state.partition = s.home
LEFT JOIN horizon AS older ON older.topic_id = s.topic_id AND older.partition = s.older
LEFT JOIN partition_state AS older_state ON older_state.topic_id = s.topic_id AND older_state.partition = s.older
LEFT JOIN horizon AS unproven ON unproven.topic_id = s.topic_id AND unproven.partition = s.unproven
LEFT JOIN horizon AS standing ON standing.topic_id = s.topic_id AND standing.partition = f.partition
LEFT JOIN partition_state AS standing_state ON standing_state.topic_id = s.topic_id
	AND standing_state.partition = f.partition
LIMIT -1;

-- Each claim by itself.
CREATE TEMP VIEW fence_claim AS
SELECT state_id, topic_id, pipeline,
	CASE
	WHEN fence_id IS NULL THEN 'not-looked-at'
	WHEN NOT present THEN NULL
	WHEN well_formed THEN 'ok'
	ELSE 'fault'
	END AS malformed,

	CASE
	WHEN well_formed IS NOT 1 THEN NULL
	WHEN records > 0 OR elsewhere THEN 'ok'
	WHEN at_fence IN ('unstable', 'not-replayed') THEN at_fence
	ELSE coalesce(incomplete, 'fault')
	END AS orphan,

	CASE
	WHEN well_formed IS NOT 1 THEN NULL
	WHEN partitions IS NULL THEN 'partitions-unknown'
	WHEN partition >= partitions THEN iif(late, 'partitions-unknown', 'fault')
	WHEN last_high_watermark IS NULL THEN 'watermark-unknown'
	WHEN offset >= last_high_watermark THEN 'fault'
	ELSE 'ok'
	END AS ahead,

	CASE
	WHEN fence_id IS NULL THEN 'not-looked-at'
	WHEN present THEN iif(records > 0, 'ok', NULL)
	WHEN home IS NULL OR unproven = home THEN doubt
	WHEN home_offset IS NOT NULL THEN CASE
		WHEN deletes AND home_tombstone_any > home_offset THEN 'ok'
		WHEN deletes AND older_tombstone IS NOT NULL THEN 'resized'
		WHEN deletes AND home_hole_end > home_offset THEN 'gap'
		WHEN deletes AND tail_unread THEN 'tail-unread'
		WHEN replica_behind THEN 'replica-behind'
		WHEN sampled_ms - home_ms >= expires_ms OR (expires_ms IS NOT NULL AND home_ms > sampled_ms)
			THEN 'expired'
		WHEN silent AND home_lost = 1 THEN 'rejects-silent'
		ELSE coalesce(dlq, 'fault')
		END
	WHEN unproven IS NOT NULL THEN doubt
	WHEN older IS NULL THEN iif(records > 0, 'ok', NULL)
	WHEN deletes AND (home_tombstone_any IS NOT NULL OR older_tombstone > coalesce(older_offset, older_unsure))
		THEN 'ok'
	WHEN older_offset IS NULL THEN 'resized'
	WHEN deletes AND older_hole_end > older_offset THEN 'gap'
	WHEN deletes AND tail_unread THEN 'tail-unread'
	WHEN replica_behind THEN 'replica-behind'
	WHEN sampled_ms - older_ms >= expires_ms OR (expires_ms IS NOT NULL AND older_ms > sampled_ms) THEN 'expired'
	WHEN silent AND older_lost = 1 THEN 'rejects-silent'
	ELSE coalesce(dlq, 'fault')
	END AS missing,

	-- A newer tombstone at home that deletes takes the demand of the records below it: that is the claim of
	-- undeleted. A fence in an older partition on a record later than the newest at home, or of the same time, may
	-- have been rebased back by a worker that knew the older count.
	CASE
	WHEN fence_id IS NULL THEN 'not-looked-at'
	WHEN well_formed IS NOT 1 THEN NULL
	WHEN home IS NULL OR unproven = home THEN doubt
	WHEN home_offset IS NOT NULL THEN CASE
		WHEN deletes AND home_tombstone > home_offset THEN 'ok'
		WHEN partition = home AND offset >= home_offset THEN 'ok'
		WHEN partition <> home AND late THEN 'partitions-unknown'
		WHEN replica_behind THEN 'replica-behind'
		WHEN fence_legal = 2 AND at_fence = 'own' AND fence_ms >= home_ms THEN 'resized'
		WHEN silent AND home_lost = 1 THEN 'rejects-silent'
		ELSE coalesce(dlq, 'fault')
		END
	WHEN unproven IS NOT NULL THEN doubt
	WHEN older IS NULL OR fence_legal <> 2 THEN 'ok'
	WHEN partition = older AND offset >= max(coalesce(older_offset, 0), coalesce(older_unsure, 0)) THEN 'ok'
	WHEN partition <> older OR older_offset IS NULL OR offset >= older_offset THEN 'resized'
	WHEN deletes AND (home_tombstone_any IS NOT NULL OR older_tombstone > older_offset) THEN 'resized'
	WHEN replica_behind THEN 'replica-behind'
	WHEN silent AND older_lost = 1 THEN 'rejects-silent'
	ELSE coalesce(dlq, 'fault')
	END AS regressed,

	CASE
	WHEN well_formed IS NOT 1 OR NOT deletes THEN NULL
	WHEN home IS NULL OR unproven = home THEN doubt
	WHEN home_tombstone IS NULL OR home_tombstone < home_offset THEN 'ok'
	WHEN fence_legal = 2 THEN 'resized'
	WHEN partition <> home OR offset >= home_tombstone THEN 'ok'
	WHEN replica_behind THEN 'replica-behind'
	WHEN silent THEN 'rejects-silent'
	ELSE coalesce(dlq, 'fault')
	END AS undeleted,

	CASE
	WHEN well_formed IS NOT 1 THEN NULL
	WHEN at_fence IN ('own', 'aborted') THEN 'ok'
	WHEN at_fence IN ('other', 'aborted-other') THEN 'fault'
	ELSE at_fence
	END AS phantom,

	CASE
	WHEN well_formed IS NOT 1 OR NOT committed_only THEN NULL
	WHEN at_fence = 'aborted' THEN 'fault'
	WHEN at_fence IN ('own', 'other', 'aborted-other') THEN 'ok'
	ELSE at_fence
	END AS aborted,

	CASE
	WHEN well_formed IS NOT 1 THEN NULL
	WHEN fence_legal IS NULL THEN no_home
	WHEN fence_legal = 0 AND late THEN 'partitions-unknown'
	WHEN fence_legal = 0 THEN 'fault'
	ELSE 'ok'
	END AS off_home,

	CASE
	WHEN well_formed IS NOT 1 OR state <> 'last' THEN NULL
	WHEN at_fence <> 'own' THEN 'fence-not-in-history'
	WHEN fence_tombstone THEN 'tombstone-at-fence'
	WHEN stored_hash IS value_hash THEN 'ok'
	ELSE 'fault'
	END AS value,

	-- A record that the DLQ names may have been applied all the same, by a worker that was repaired after a crash.
	-- Less than the history, or another sum, may be for a moment what a crash of a worker left: a record that is
	-- read again below a delete is counted from zero until the delete is read again as well; a reject above the
	-- commit may not be in the DLQ yet.
	CASE
	WHEN well_formed IS NOT 1 OR NOT counted THEN NULL
	WHEN at_fence <> 'own' THEN 'fence-not-in-history'
	WHEN fence_tombstone AND deletes THEN 'tombstone-at-fence'
	WHEN ttl IS NOT NULL OR expires_ms IS NOT NULL THEN 'ttl'
	WHEN doubt = 'not-replayed' THEN doubt
	WHEN from_complete IS NOT 1 THEN 'history-incomplete'
	WHEN legal_partitions > 1 THEN 'rebased'
	WHEN silent THEN 'rejects-silent'
	WHEN dlq IS NOT NULL THEN dlq
	WHEN state = 'sum' AND applied_sum IS NULL THEN 'no-number'
	WHEN stored_number IS iif(state = 'sum', applied_sum, applied) THEN 'ok'
	WHEN rejected > 0 AND (state = 'sum' OR deletes OR stored_number > applied AND stored_number <= applied + rejected)
		THEN 'rejected'
	WHEN state = 'count' AND coalesce(stored_number > applied, 1) THEN 'fault'
	WHEN deletes AND (home_tombstone_any > offset OR older_tombstone > offset) THEN 'deleted-above'
	WHEN deletes AND standing_unread THEN 'tail-unread'
	WHEN rejecting AND offset >= coalesce(standing_end, 0) THEN 'above-commit'
	ELSE 'fault'
	END AS count,

	CASE
	WHEN well_formed IS NOT 1 THEN NULL
	WHEN fence_legal IS NULL THEN no_home
	WHEN legal_partitions > 1 OR fence_legal = 2 THEN 'fault'
	ELSE 'ok'
	END AS rebased,

	CASE
	WHEN well_formed IS NOT 1 THEN NULL
	WHEN ttl IS NULL THEN 'ok'
	WHEN newest_ms IS NULL THEN 'no-history'
	WHEN cleanup_policy IS NULL OR retention_ms IS NULL THEN 'retention-unknown'
	WHEN retention_ms < 0 OR instr(cleanup_policy, 'delete') = 0 THEN 'retention-infinite'
	WHEN sampled_ms + ttl < newest_ms + retention_ms + lag_ms THEN 'fault'
	ELSE 'ok'
	END AS expiring
FROM fence_base
WHERE topic_id IS NOT NULL
LIMIT -1;

CREATE TEMP VIEW fence_rank AS
SELECT *,
	CASE 'fault'
	WHEN malformed THEN 1
	WHEN orphan THEN 2
	WHEN ahead THEN 3
	WHEN missing THEN 4
	WHEN regressed THEN 5
	WHEN undeleted THEN 6
	WHEN phantom THEN 7
	WHEN aborted THEN 8
	WHEN off_home THEN 9
	WHEN value THEN 10
	WHEN count THEN 11
	ELSE 12
	END AS rank
FROM fence_claim
WHERE topic_id IS NOT NULL
LIMIT -1;

CREATE TEMP TABLE fence_fault (
	state_id INTEGER PRIMARY KEY, topic_id INTEGER, pipeline TEXT,
	fault TEXT,                             -- name of the check; NULL: none of those that exclude each other
	malformed TEXT, orphan TEXT, ahead TEXT, missing TEXT, regressed TEXT, undeleted TEXT, phantom TEXT,
		aborted TEXT, off_home TEXT,
	value TEXT, count TEXT, rebased TEXT, expiring TEXT
);
INSERT INTO fence_fault
SELECT state_id, topic_id, pipeline,
	CASE rank
	WHEN 1 THEN 'fence-malformed'
	WHEN 2 THEN 'fence-orphan'
	WHEN 3 THEN 'fence-ahead'
	WHEN 4 THEN 'fence-missing'
	WHEN 5 THEN 'fence-regressed'
	WHEN 6 THEN 'fence-undeleted'
	WHEN 7 THEN 'fence-phantom'
	WHEN 8 THEN 'fence-aborted'
	WHEN 9 THEN 'fence-off-home'
	WHEN 10 THEN 'fence-value'
	WHEN 11 THEN 'fence-count'
	END,
	malformed,
	iif(rank < 2, NULL, orphan),
	iif(rank < 3, NULL, ahead),
	iif(rank < 4, NULL, missing),
	iif(rank < 5, NULL, regressed),
	iif(rank < 6, NULL, undeleted),
	iif(rank < 7, NULL, phantom),
	iif(rank < 8, NULL, aborted),
	iif(rank < 9, NULL, off_home),
	iif(rank < 10, NULL, value),
	iif(rank < 11, NULL, count),
	iif(rank < 12, NULL, rebased),
	expiring
FROM fence_rank
WHERE topic_id IS NOT NULL;

-- Keys that nobody could look at, because no Redis key can be written for them.
UPDATE fence_fault
SET malformed = replace(malformed, 'not-looked-at', 'no-redis-key'),
	missing = replace(missing, 'not-looked-at', 'no-redis-key'),
	regressed = replace(regressed, 'not-looked-at', 'no-redis-key')
WHERE state_id IN (
	SELECT state_id FROM unlooked_key JOIN topic USING (topic_id) JOIN pipeline USING (pipeline_id)
	WHERE topic.run_id = ?1 AND pipeline.key_format <> 'raw' AND key_decode(pipeline.key_format, key) IS NULL);

-- A fence that several record keys share may stand on a record of any of them: what was said of it, and what was not
-- asked any more because of that, cannot be told.
CREATE TEMP TABLE fence_shared (state_id INTEGER PRIMARY KEY, standing INTEGER);
INSERT INTO fence_shared
SELECT state_id, fault <> 'fence-missing'
FROM shared_key
CROSS JOIN fence_fault USING (state_id)
WHERE coalesce(fault, '') NOT IN ('fence-malformed', 'fence-ahead');
UPDATE fence_fault
SET fault = NULL,
	orphan = iif(orphan IS NULL, NULL, 'shared-redis-key'),
	missing = iif(missing IS NULL, NULL, 'shared-redis-key'),
	regressed = iif(regressed IS NULL AND standing IS NOT 1, NULL, 'shared-redis-key'),
	undeleted = iif(undeleted IS NULL AND standing IS NOT 1, NULL, 'shared-redis-key'),
	phantom = iif(phantom IS NULL AND standing IS NOT 1, NULL, 'shared-redis-key'),
	aborted = iif(aborted IS NULL AND standing IS NOT 1, NULL, 'shared-redis-key'),
	off_home = iif(off_home IS NULL AND standing IS NOT 1, NULL, 'shared-redis-key'),
	value = iif(value IS NULL AND standing IS NOT 1, NULL, 'shared-redis-key'),
	count = iif(count IS NULL AND standing IS NOT 1, NULL, 'shared-redis-key'),
	rebased = iif(rebased IS NULL AND standing IS NOT 1, NULL, 'shared-redis-key')
FROM fence_shared
WHERE fence_shared.state_id = +fence_fault.state_id AND fence_fault.state_id IN (SELECT state_id FROM fence_shared);
CREATE INDEX temp.fence_fault_fault ON fence_fault (fault) WHERE fault IS NOT NULL;

-- How many keys of which pipeline went which way through all claims.
CREATE TEMP TABLE fence_way AS
SELECT pipeline, malformed, orphan, ahead, missing, regressed, undeleted, phantom, aborted, off_home, value, count,
	rebased, expiring,
	count(*) AS n
FROM fence_fault
GROUP BY pipeline, malformed, orphan, ahead, missing, regressed, undeleted, phantom, aborted, off_home, value, count,
	rebased, expiring;

-- What the first statement of each fence check tells: subjects examined (reason NULL) and unverifiable by reason. A
-- pipeline to which the check does not apply has no row.
CREATE TEMP TABLE fence_subject (name TEXT, pipeline TEXT, reason TEXT, n INTEGER);
INSERT INTO fence_subject
WITH way (name, pipeline, class, n) AS (
	SELECT 'fence-malformed', pipeline, malformed, n FROM fence_way
	UNION ALL SELECT 'fence-orphan', pipeline, orphan, n FROM fence_way
	UNION ALL SELECT 'fence-ahead', pipeline, ahead, n FROM fence_way
	UNION ALL SELECT 'fence-missing', pipeline, missing, n FROM fence_way
	UNION ALL SELECT 'fence-regressed', pipeline, regressed, n FROM fence_way
	UNION ALL SELECT 'fence-undeleted', pipeline, undeleted, n FROM fence_way
	UNION ALL SELECT 'fence-phantom', pipeline, phantom, n FROM fence_way
	UNION ALL SELECT 'fence-aborted', pipeline, aborted, n FROM fence_way
	UNION ALL SELECT 'fence-off-home', pipeline, off_home, n FROM fence_way
	UNION ALL SELECT 'fence-value', pipeline, value, n FROM fence_way
	UNION ALL SELECT 'fence-count', pipeline, count, n FROM fence_way
	UNION ALL SELECT 'fence-rebased', pipeline, rebased, n FROM fence_way
	UNION ALL SELECT 'fence-expiring', pipeline, expiring, n FROM fence_way
	UNION ALL SELECT 'fence-orphan', pipeline, 'redis-key-unreadable', unread FROM fenced_topic WHERE unread > 0
), applies (name, pipeline) AS (
	SELECT value, pipeline
	FROM (SELECT DISTINCT pipeline FROM fenced_topic)
	JOIN json_each('["fence-malformed","fence-orphan","fence-ahead","fence-missing","fence-regressed",'
		|| '"fence-phantom","fence-off-home","fence-rebased","fence-expiring"]')
	UNION SELECT 'fence-undeleted', pipeline FROM fenced_topic WHERE deletes
	UNION SELECT 'fence-aborted', pipeline FROM fenced_topic WHERE committed_only
	UNION SELECT 'fence-value', pipeline FROM fenced_topic WHERE state = 'last'
	UNION SELECT 'fence-count', pipeline FROM fenced_topic WHERE counted)
SELECT applies.name, applies.pipeline, iif(way.class IN ('ok', 'fault'), NULL, way.class), coalesce(sum(way.n), 0)
FROM applies
LEFT JOIN way ON way.name = applies.name AND way.pipeline = applies.pipeline AND way.class IS NOT NULL
GROUP BY 1, 2, 3;

-- A key with its fault and all that a finding tells of it. Times are RFC 3339.
CREATE TEMP VIEW fence_case AS
SELECT fault.fault, fault.rebased, fault.expiring, t.pipeline, t.topic, t.partitioner, t.partitions, t.state, t.deletes,
	t.retention_ms,
	s.*, f.hash, f.key, f.redis_key, f.type, f.malformed, f.partition_raw, f.offset_raw,
		f.partition AS fence_partition, f.offset AS fence_offset,
	f.value_hash AS stored_hash, f.value_number AS stored_number, f.value_raw, f.ttl_ms, f.field_ttl_ms,
		f.sampled_us,
	strftime('%Y-%m-%dT%H:%M:%fZ', f.sampled_us / 1000 / 1000.0, 'unixepoch') AS sampled_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', s.fence_ms / 1000.0, 'unixepoch') AS fence_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', s.newest_ms / 1000.0, 'unixepoch') AS newest_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', s.home_ms / 1000.0, 'unixepoch') AS home_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', s.home_lost_first_ms / 1000.0, 'unixepoch') AS home_lost_first_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', s.older_ms / 1000.0, 'unixepoch') AS older_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', s.older_lost_first_ms / 1000.0, 'unixepoch') AS older_lost_first_at,
	coalesce(home.log_start_before_commit, home.log_start) AS home_log_start,
	coalesce(older.log_start_before_commit, older.log_start) AS older_log_start,
	max(0, home.high_watermark_us / 1000 - coalesce(home_state.waiting_ms, home.high_watermark_us / 1000)) AS lag_ms
FROM fence_fault AS fault
CROSS JOIN fenced_topic AS t USING (topic_id)
CROSS JOIN fence_state AS s ON s.state_id = fault.state_id
LEFT JOIN fence AS f ON f.fence_id = s.state_id
LEFT JOIN horizon AS home ON home.topic_id = s.topic_id AND home.partition = s.home
LEFT JOIN horizon AS older ON older.topic_id = s.topic_id AND older.partition = s.older
LEFT JOIN partition_state AS home_state ON home_state.topic_id = s.topic_id AND home_state.partition = s.home;
