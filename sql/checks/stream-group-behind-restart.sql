-- order: 655
-- subject: stream
-- title: groups that moved back
-- severity: error
-- claim: Since the look before, no group went away and its last-delivered-id and entries-read did not fall, nor did the
--   stream go away or its newest id fall. Delivery counters that fall are no fault.
-- unverifiable: nothing fell, but the server is no measure for the one of before, and the group may have moved on
--   since: failed-over, it was promoted or demoted; restarted; replaced, another data set answers; server-unknown,
--   INFO could not be read. Or watch-changed, the group is not watched any more; not-looked-at. Without an earlier look
--   there is nothing to examine.
-- remedy: If nobody moved it on purpose with XGROUP SETID, XGROUP DESTROY or DEL, Redis lost writes: look at
--   redis-failed-over. Entries are delivered again from where the group stands; put it where it was only when what lies
--   between is known to be done.
SELECT watched.pipeline, iif(behind IN ('ok', 'fault'), NULL, behind) AS reason, count(behind) AS n
FROM watched
LEFT JOIN group_before AS b ON b.pipeline = watched.pipeline
GROUP BY 1, 2;

SELECT pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key,
	kind || ' ' || coalesce(entry_text(old_delivered), entry_text(old_generated)) AS identity,
	redis_key AS stream, grp, NULL AS consumer, NULL AS entry,
	CASE kind
	WHEN 'stream-vanished' THEN printf('The stream %s is gone%s; in run %d it was there.', text,
		coalesce(', and group ' || key_text(grp) || ' with it', ''), before_run)
	WHEN 'stream-recreated' THEN printf('The stream %s was made anew or lost its newest entries%s: its newest id '
		|| 'is %s, and was %s in run %d%s.', text, coalesce(', below group ' || key_text(grp), ''),
		entry_text(last_generated), entry_text(old_generated), before_run,
		iif(entries_added < old_added,
			printf('; %d entries were ever added, and %d then', entries_added, old_added), ''))
	WHEN 'group-vanished' THEN printf('Group %s of %s is gone; in run %d it stood at %s with %d pending.',
		key_text(grp), text, before_run, entry_text(old_delivered), old_pending)
	WHEN 'last-delivered-fell' THEN printf('Group %s of %s stands at %s, and stood at %s in run %d.',
		key_text(grp), text, entry_text(delivered), entry_text(old_delivered), before_run)
	ELSE printf('Group %s of %s was given %d entries, and %d by run %d.', key_text(grp), text, entries_read,
		old_read, before_run)
	END AS detail,
	json_object('kind', kind, 'run', before_run,
		'read', strftime('%Y-%m-%dT%H:%M:%fZ', before_us / 1000 / 1000.0, 'unixepoch'),
		'last_delivered', entry_text(delivered), 'last_delivered_then', entry_text(old_delivered),
		'entries_read', entries_read, 'entries_read_then', old_read, 'pending', pending,
		'pending_then', old_pending, 'last_generated', entry_text(last_generated),
		'last_generated_then', entry_text(old_generated), 'entries_added', entries_added,
		'entries_added_then', old_added, 'server', coalesce(doubt, 'same')) AS evidence,
	CASE kind
	WHEN 'stream-vanished' THEN 'If nobody deleted it on purpose, restore it from a backup or another replica '
		|| 'before producers and workers go on.'
	WHEN 'stream-recreated' THEN printf('Compare redis-cli XINFO STREAM %s ; with a backup or another replica. '
		|| 'What stood there above %s in run %d is gone; produce it again.', word, entry_text(last_generated),
		before_run)
	WHEN 'group-vanished' THEN printf('Make it again where it stood: redis-cli XGROUP CREATE %s %s %s ; what was '
		|| 'pending then is not delivered again: fencepost sql shows it, in table pending of run %d.', word,
		grp_word, entry_text(old_delivered), before_run)
	ELSE printf('If a person moved it back with XGROUP SETID, nothing is wrong: entries are delivered again. If '
		|| 'not, Redis lost writes: look at redis-failed-over. Only when all work up to there is known to be '
		|| 'done: redis-cli XGROUP SETID %s %s %s', word, grp_word, entry_text(old_delivered))
	END AS remedy
FROM group_before
WHERE behind = 'fault'
ORDER BY pipeline, stream, grp;
