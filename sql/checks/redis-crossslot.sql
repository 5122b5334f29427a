-- order: 770
-- subject: pipeline
-- title: state and epoch in different slots
-- severity: error
-- claim: In cluster mode, or where cluster.plan says that a cluster is to come, the Redis keys that the fence contract
--   touches at once, state and epoch, lie in one slot.
-- unverifiable: never. Without an epoch template, or without a cluster, the claim does not apply.
-- remedy: A cluster refuses a script with two slots (CROSSSLOT), so no record is applied. Give both keys the same hash
--   tag: the evidence has templates that work, and what each costs. Move the keys with the workers stopped: RENAME does
--   not cross slots, DUMP and RESTORE do.
SELECT pipeline.name AS pipeline, NULL AS reason, 1 AS n
FROM pipeline
JOIN topic ON topic.pipeline_id = pipeline.pipeline_id AND topic.role = 'source'
LEFT JOIN server_row ON earlier = 0 AND scope = 'redis/' || rtrim(rtrim(pipeline.redis, '0123456789'), '/')
WHERE pipeline.run_id = :run AND pipeline.redis IS NOT NULL AND pipeline.epoch_template <> ''
	AND (pipeline.cluster_plan OR server_row.cluster = 1)
GROUP BY pipeline.pipeline_id;

-- Templates are taken apart as the config reads them: {{ }} {key} {topic} {partition} become the characters 1 to 5.
-- Where the sample has no keys the history has; where those are not what stands in Redis, any key will do.
WITH planned AS (
	SELECT pipeline.pipeline_id, pipeline.name AS pipeline, pipeline.key_format, pipeline.key_template,
		pipeline.epoch_template, coalesce(server_row.cluster, 0) AS clustered, topic.topic, topic.topic_id,
		topic.partitions, pipeline.partitioner
	FROM pipeline
	JOIN topic ON topic.pipeline_id = pipeline.pipeline_id AND topic.role = 'source'
	LEFT JOIN server_row ON earlier = 0
		AND scope = 'redis/' || rtrim(rtrim(pipeline.redis, '0123456789'), '/')
	WHERE pipeline.run_id = :run AND pipeline.redis IS NOT NULL AND pipeline.epoch_template <> ''
		AND (pipeline.cluster_plan OR server_row.cluster = 1)
), choice AS (
	SELECT topic_id, 0 AS choice, NULL AS cost, key_template AS key, epoch_template AS epoch
	FROM planned
	UNION ALL
	SELECT topic_id, 1, 'all keys of a topic lie in one slot, and so on one node',
		CASE
		WHEN instr(key_template, '{{') THEN '{{{topic}}}:' || key_template
		WHEN instr(key_template, '{topic}') THEN replace(key_template, '{topic}', '{{{topic}}}')
		ELSE replace(key_template, '{key}', '{{{topic}}}:{key}')
		END,
		CASE
		WHEN instr(epoch_template, '{{') THEN '{{{topic}}}:' || epoch_template
		WHEN instr(epoch_template, '{topic}') THEN replace(epoch_template, '{topic}', '{{{topic}}}')
		ELSE replace(epoch_template, '{partition}', '{{{topic}}}:{partition}')
		END
	FROM planned
	UNION ALL
	SELECT topic_id, 2, 'keys spread over all nodes, but each has an epoch of its own, which a new owner of the '
		|| 'partition must raise for every key; an audit cannot read these: it is told epoch: ""',
		replace(key_template, '{key}', '{{{key}}}'), replace(epoch_template, '{partition}', '{{{key}}}')
	FROM planned
	WHERE NOT instr(key_template, '{{') AND NOT instr(epoch_template, '{{')
), masked AS (
	SELECT choice.*, planned.topic,
		replace(replace(replace(replace(replace(key, '{{', char(1)), '{key}', char(3)), '{topic}', char(4)),
			'{partition}', char(5)), '}}', char(2)) AS key_mask,
		replace(replace(replace(replace(replace(epoch, '{{', char(1)), '{key}', char(3)), '{topic}', char(4)),
			'{partition}', char(5)), '}}', char(2)) AS epoch_mask
	FROM choice
	JOIN planned USING (topic_id)
), filled AS (
	SELECT *, replace(replace(replace(key_mask, char(1), '{'), char(2), '}'), char(4), topic) AS key_text,
		replace(replace(replace(epoch_mask, char(1), '{'), char(2), '}'), char(4), topic) AS epoch_text
	FROM masked
), form AS (
	SELECT topic_id, choice, cost, key, epoch, epoch_text,
		substr(key_text, 1, instr(key_text, char(3)) - 1) AS key_before,
		substr(key_text, instr(key_text, char(3)) + 1) AS key_after,
		iif(instr(epoch_text, char(3)), substr(epoch_text, 1, instr(epoch_text, char(3)) - 1), NULL) AS epoch_before,
		substr(epoch_text, instr(epoch_text, char(3)) + 1) AS epoch_after
	FROM filled
), sampled AS (
	SELECT planned.topic_id, 'sample' AS source, f.fence_id AS place, f.key,
		substr(f.redis_key, length(CAST(form.key_before AS BLOB)) + 1, length(f.redis_key)
			- length(CAST(form.key_before AS BLOB)) - length(CAST(form.key_after AS BLOB))) AS word
	FROM planned
	JOIN form ON form.topic_id = planned.topic_id AND form.choice = 0
	JOIN fence AS f ON f.fence_id IN (SELECT fence_id FROM fence WHERE fence.topic_id = planned.topic_id
		ORDER BY fence_id LIMIT 1000)
), known AS (
	SELECT topic_id, 'history' AS source, nth AS place, key, key AS word
	FROM (
		SELECT topic_id, key, row_number() OVER (PARTITION BY topic_id ORDER BY partition, hash) AS nth
		FROM key_state
		WHERE topic_id IN (SELECT topic_id FROM planned WHERE key_format = 'raw')
			AND topic_id NOT IN (SELECT topic_id FROM sampled))
	WHERE nth <= 1000
), tried AS (
	SELECT * FROM sampled
	UNION ALL
	SELECT * FROM known
	UNION ALL
	SELECT topic_id, 'template', 0, CAST('42' AS BLOB), CAST('42' AS BLOB)
	FROM planned
	WHERE topic_id NOT IN (SELECT topic_id FROM sampled) AND topic_id NOT IN (SELECT topic_id FROM known)
), pair AS (
	SELECT planned.pipeline_id, planned.pipeline, planned.topic, planned.topic_id, planned.clustered, form.choice,
		form.cost, form.key AS key_template, form.epoch AS epoch_template, tried.source, tried.place,
		form.key_before || tried.word || form.key_after AS state_key,
		replace(coalesce(form.epoch_before || tried.word || form.epoch_after, form.epoch_text), char(5),
			coalesce(partition_by(planned.partitioner, tried.key, planned.partitions), 0)) AS epoch_key
	FROM tried
	JOIN planned USING (topic_id)
	JOIN form USING (topic_id)
), slot AS (
	SELECT *, redis_slot(state_key) AS state_slot, redis_slot(epoch_key) AS epoch_slot
	FROM pair
), counted AS (
	SELECT *, sum(state_slot <> epoch_slot) OVER (PARTITION BY topic_id, choice) AS apart,
		count(*) OVER (PARTITION BY topic_id, choice) AS keys,
		row_number() OVER (PARTITION BY topic_id, choice ORDER BY state_slot = epoch_slot, place) AS first
	FROM slot
), one AS (
	SELECT *, row_number() OVER (PARTITION BY pipeline_id ORDER BY topic) AS shown
	FROM counted
	WHERE first = 1 AND choice = 0 AND apart > 0
), way AS (
	SELECT topic_id, json_group_array(json_object('key', key_template, 'epoch', epoch_template, 'cost', cost,
			'state_key', key_text(state_key), 'epoch_key', key_text(epoch_key), 'state_slot', state_slot,
			'epoch_slot', epoch_slot, 'keys', keys, 'apart', apart)) AS ways,
		group_concat(printf('key: "%s" with epoch: "%s"%s (%s)', key_template, epoch_template,
			iif(apart > 0, printf(', but for %d of %d keys', apart, keys), ''), cost), '; or ') AS words
	FROM (SELECT * FROM counted WHERE first = 1 AND choice > 0 AND apart < keys ORDER BY topic_id, choice)
	GROUP BY topic_id
)
SELECT one.pipeline, one.topic, NULL AS partition, NULL AS offset, NULL AS key, CAST(one.state_key AS BLOB) AS redis_key,
	one.key_template || ' ' || one.epoch_template AS identity,
	printf('%s: %s is in slot %d and its epoch %s in slot %d, so no script can touch both%s.', one.topic,
		key_text(one.state_key), one.state_slot, key_text(one.epoch_key), one.epoch_slot,
		iif(one.clustered, '', ' once Redis is a cluster')) AS detail,
	printf('Give state and epoch one hash tag: %s. Stop the workers, then copy the keys: RENAME does not cross slots, '
		|| 'DUMP and RESTORE do.', way.words) AS remedy,
	json_object('kind', iif(one.clustered, 'cluster', 'plan'), 'key', one.key_template, 'epoch', one.epoch_template,
		'state_key', key_text(one.state_key), 'epoch_key', key_text(one.epoch_key), 'state_slot', one.state_slot,
		'epoch_slot', one.epoch_slot, 'keys', one.keys, 'apart', one.apart, 'keys_from', one.source,
		'templates', json(way.ways)) AS evidence
FROM one
LEFT JOIN way USING (topic_id)
WHERE one.shown = 1
ORDER BY one.pipeline_id;
