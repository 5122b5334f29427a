-- order: 750
-- subject: server
-- title: fences that the server itself has dropped
-- severity: error
-- claim: Where fences are missing, the server has not dropped them: since the newest earlier run it expired none of the
--   kind (no fence with a time to live that has run out is among the missing, and none of those that stand has one),
--   evicted none, and did not come back from a restart with fewer keys than it had.
-- unverifiable: no-ttl-seen, keys expired or were evicted for their time to live, but no fence was seen with one;
--   another-process, another server answers, and its counters tell nothing of then; counters-unknown, INFO has none.
--   Without an earlier run, or without fences on the server, there is nothing to examine.
-- remedy: Stop the workers of these pipelines. Take the times to live off the keys (PERSIST), or say expires in the
--   config where they are meant; CONFIG SET maxmemory-policy noeviction; or restore a newer RDB or AOF. Then replay the
--   records that fence-missing names.
SELECT scope AS pipeline, iif(loss IN ('another-process', 'counters-unknown', 'no-ttl-seen'), loss, NULL) AS reason,
	count(loss) AS n
FROM server_change
LEFT JOIN server_loss USING (scope)
WHERE scope IN (SELECT scope FROM server_pipeline WHERE fences > 0)
GROUP BY 1, 2;

SELECT scope AS pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key,
	loss || ' since ' || then_run AS identity,
	CASE loss
	WHEN 'expired' THEN printf('%s expired %d keys since run %d, and %d fences are missing%s.', scope, expired, then_run,
		missing, iif(run_out > 0, printf(', %d of them since their time to live ran out', run_out), ''))
	WHEN 'evicted' THEN printf('%s evicted %d keys since run %d, and %d fences are missing.', scope, evicted, then_run,
		missing)
	ELSE printf('%s came back from a restart with %d keys and had %d in run %d, and %d fences are missing.', scope,
		coalesce(loaded, keys), then_keys, then_run, missing)
	END AS detail,
	json_object('kind', loss, 'run', then_run, 'fences_missing', missing, 'pipelines', json(pipelines),
		'evicted', evicted, 'expired', expired, 'ttl_run_out', run_out, 'fences_with_ttl', standing,
		'keys_before', then_keys, 'keys', keys, 'loaded', loaded, 'expired_at_load', load_expired) AS evidence
FROM server_loss
WHERE loss IN ('expired', 'evicted', 'fewer')
ORDER BY scope;
