-- order: 760
-- subject: server
-- title: servers whose clock is wrong
-- severity: warning
-- claim: A server's clock differs from this host's by no more than a second, beside the time that its answer took.
-- unverifiable: clock-unknown, the server may not be asked for TIME, and INFO does not tell its time.
-- remedy: Compare both with a third clock, and synchronise the wrong one (chronyc tracking, chronyc makestep). While the
--   server's is wrong, keys live too short or too long, and ids of stream entries do not tell their age.
SELECT scope AS pipeline, iif(server_us IS NULL, 'clock-unknown', NULL) AS reason, 1 AS n
FROM server_row
WHERE earlier = 0;

WITH skew AS (
	SELECT *, server_us - host_us AS ahead_us
	FROM server_row
	WHERE earlier = 0
)
SELECT scope AS pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key,
	iif(ahead_us > 0, 'ahead', 'behind') AS identity,
	printf('The clock of %s is %.1f seconds %s this host''s.', scope, abs(ahead_us) / 1000000.0,
		iif(ahead_us > 0, 'ahead of', 'behind')) AS detail,
	json_object('ahead_ms', ahead_us / 1000, 'answered_in_ms', answered_in_us / 1000,
		'server', strftime('%Y-%m-%dT%H:%M:%fZ', server_us / 1000 / 1000.0, 'unixepoch'),
		'host', strftime('%Y-%m-%dT%H:%M:%fZ', host_us / 1000 / 1000.0, 'unixepoch')) AS evidence
FROM skew
WHERE abs(ahead_us) - answered_in_us > 1000000
ORDER BY scope;
