#!/bin/sh
# Writes docs/checks.md from the header comments of the checks:  sh docs/checks.sh > docs/checks.md
set -eu
cd "$(dirname "$0")/.."
cat <<'TEXT'
# The checks

Made by `docs/checks.sh` from the headers of `sql/checks/*.sql`; `fencepost checks NAME` shows the same with the SQL.

A check is one SQL file and one claim. It says first how many subjects it examined and how many it could not decide, by reason; then
what breaks the claim, one row a finding. Its status is `pass`, `fail`, `empty` (nothing was examined), `skip` (the claim does not apply to the
pipeline, stream or server) or `error`.

**One fault makes one finding.** Of a key's fence, the first claim that is broken speaks, in this order: malformed, orphan, ahead, missing,
regressed, undeleted, phantom, aborted, off-home, value, count. A key with such a finding is no subject of the claims after it. So it is with a
pending entry of a stream: trimmed-pending, poison, stuck.

**What could not be decided is counted and named**, never passed. Reasons that many checks share:

| reason | what it means |
|---|---|
| no-commit, commit-unknown, not-yet-old | nothing says how far the pipeline had come in the partition |
| not-looked-at | sampling was cut short before the key |
| no-redis-key | the record key is not of the key.format, such as an int64 of five bytes, or NaN: it has no Redis key |
| not-replayed | the partition could not be read to its end |
| partitions-unknown | the partition count could not be read, or may have grown before the key was sampled |
| resized | partitions were added, and a worker that knew the older count may rightly have left what is there |
| replica-behind | a replica was sampled that could not be shown to have caught up |
| rejects-silent | the pipeline rejects records without a trace (`rejects: silent`) |
| dlq-incomplete, dlq-unnamed | the DLQ does not tell all the records that were rejected: trimmed, compacted or perhaps so, not read to its end; or records without a source |
| gap | there is no record at the offset: a transaction marker, or a record that is gone |
| unstable | between the last stable offset and the high watermark |
| shared-redis-key | record keys that differ in the schema id alone have one Redis key, and one fence for both (see key.format) |
| not-sampled | the group has more pending entries than `pending.keys`, and the entry is not among those that were kept |
| maybe-acknowledged | the entry is not pending any more, at a group and consumer that still stand |
| entries-read-unknown, entries-read-stale, lag-unknown | the server cannot count what the group was given, or may count wrongly |
| entries-deleted, deleted-or-trimmed | entries were deleted by their ids, so that counting does not tell what was trimmed |
| failed-over, restarted, replaced | nothing fell, but the server is another one than at the look before |
| server-too-old, server-unknown, clock-unknown | the server does not tell, or may not be asked |

## Adding one
A file `NAME.sql` in the directory of `--checks DIR` adds a check, or replaces the one of that name. `analyzer/checkfile.h` says what it must have; it can read
every table of the index, and for fences what `sql/queries/check_fault.sql` made of them: `fence_case` (a key with its fault and all that is
known of it), `fence_fault`, `fence_subject`; for streams what `sql/queries/check_stream.sql` made: `watched_stream`, `watched_group`,
`pending_case`, `group_claim`, `group_before`; for servers what `sql/queries/check_server.sql` made: `server_row`, `server_change`,
`server_loss`. A statement that does more than read is refused.

TEXT
for file in $(grep -H '^-- order: ' sql/checks/*.sql | sed 's/:-- order: / /' | sort -k2n | cut -d' ' -f1); do
	awk -v name="$(basename "$file" .sql)" '
		/^-- [a-z]+: / { field = $2; sub(/:$/, "", field); sub(/^-- [a-z]+: /, ""); text[field] = $0; next }
		/^--   / { sub(/^--   /, ""); text[field] = text[field] " " $0; next }
		{ exit }
		END {
			printf "## %s\n*%s: %s.*\n\n", name, text["severity"], text["title"]
			printf "%s\n\n", text["claim"]
			printf "**Unverifiable:** %s\n\n", text["unverifiable"]
			printf "**Remedy:** %s\n\n", text["remedy"]
		}' "$file"
done
