-- order: 645
-- subject: stream
-- title: entries that were trimmed before a group was given them
-- severity: error
-- claim: What is gone from the stream had been given to the group: its last-delivered-id has reached the oldest entry,
--   or no more entries are gone than it was given. Entries that it passed over unread and then left behind are not
--   seen.
-- unverifiable: entries-read-unknown, the group began at an id of its own and the server cannot count what it was
--   given; entries-read-stale, the server was a replica or started from an append-only file, before version 7.4, and
--   may count wrongly; entries-deleted, entries were deleted by their ids, not only trimmed; server-too-old, before
--   version 7.0; server-unknown, INFO could not be read; not-looked-at. Where the look before saw the oldest entry
--   that the group waited for, and it is gone, no count is needed.
-- remedy: The entries are gone for this group. Produce them again from where they came, and trim by MINID at what the
--   slowest group has acknowledged.
SELECT watched.pipeline, iif(trimmed_undelivered IN ('ok', 'fault'), NULL, trimmed_undelivered) AS reason,
	count(trimmed_undelivered) AS n
FROM watched
LEFT JOIN group_claim ON group_claim.pipeline = watched.pipeline
GROUP BY 1, 2;

SELECT pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key,
	entry_text(last_delivered) AS identity, redis_key AS stream, grp, NULL AS consumer, NULL AS entry,
	printf('%s %d entr%s of %s %s trimmed before group %s was given %s: it stands at %s, and %s.',
		iif(seen_lost > 0, 'At least', 'About'), lost, iif(lost = 1, 'y', 'ies'), text,
		iif(lost = 1, 'was', 'were'), grp_text, iif(lost = 1, 'it', 'them'), entry_text(last_delivered),
		iif(length = 0, 'the stream is empty', 'the stream begins at ' || entry_text(first_entry))) AS detail,
	json_object('last_delivered', entry_text(last_delivered), 'first_entry', entry_text(first_entry),
		'last_generated', entry_text(last_generated), 'lost', lost,
		'sure', iif(seen_lost > 0, 'seen', 'estimate'), 'entries_added', entries_added, 'length', length,
		'entries_read', entries_read, 'max_deleted', entry_text(max_deleted),
		'run', iif(seen_lost > 0, before_run, NULL)) AS evidence,
	printf('Produce again from its source what lay after %s%s. See where each group stands: redis-cli XINFO GROUPS '
		|| '%s ; trim no further than the slowest, with its last-delivered-id for ID: redis-cli XTRIM %s MINID '
		|| 'ID', entry_text(last_delivered), coalesce(' and before ' || entry_text(first_entry), ''), word,
		word) AS remedy
FROM group_claim
WHERE trimmed_undelivered = 'fault'
ORDER BY pipeline, stream, grp;
