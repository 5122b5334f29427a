#!/usr/bin/env bash
# make demo: a healthy pipeline and a broken one, audited.
#
# Starts librdkafka's mock broker and a private Redis, fills a topic, runs the reference worker (which is killed once in
# the middle of a batch and started again), audits: clean. Then it does the pipeline the harm that failovers, careless
# producers and clumsy hands do, and audits again: every harm is found. Ends 0 only if it went exactly so.
# Needs neither Java nor Python. Everything lies in one temporary directory and ends with this script; KEEP=1 leaves the
# directory.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
pipe=$build/pipeline
dir=$(mktemp -d "${TMPDIR:-/tmp}/fencepost-demo-XXXXXX")
pids=()

cleanup()
{
	[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
	wait 2>/dev/null || true
	[ -n "${KEEP-}" ] || rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

die()
{
	echo "demo: $*" >&2
	exit 1
}

say()
{
	if [ -t 1 ]; then printf '\n\033[1m%s\033[0m\n' "$*"; else printf '\n%s\n' "$*"; fi
}

# Show a command as one would type it, then run it.
run()
{
	printf '$ %s\n' "$*"
	"$@"
}

# until COMMAND: try it for 10 seconds.
until_true()
{
	local i
	for ((i = 0; i < 200; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.05
	done
	die "waited in vain for: $*"
}

start_servers()
{
	# the broker ends with its stdin, so that it cannot outlive this script
	mkfifo "$dir/hold"
	"$pipe/mockbroker" --topic orders:6 --topic orders-out:3 --topic orders-dlq:1 \
		<"$dir/hold" >"$dir/bootstrap" 2>"$dir/broker.log" &
	pids+=($!)
	exec 9>"$dir/hold"
	redis-server --port 0 --unixsocket "$dir/redis.sock" --save '' --appendonly yes --dir "$dir" \
		>"$dir/redis.log" 9>&- &
	pids+=($!)
	until_true test -s "$dir/bootstrap"
	until_true redis-cli -s "$dir/redis.sock" ping
	bootstrap=$(cat "$dir/bootstrap")
	where=(-b "$bootstrap" -t orders -u "$dir/redis.sock" -g orders-processor)
}

work()
{
	"$pipe/worker" "${where[@]}" --state count --output orders-out --dlq orders-dlq --poison --no-join --until-end \
		"$@"
}

fault()
{
	"$pipe/fault" "$1" "${where[@]}" --state count --poison "${@:2}" >>"$dir/facts.jsonl"
	printf '  %-18s %s\n' "$1" "$meaning"
}

write_config()
{
	cat >"$dir/fencepost.yaml" <<-END
	kafka:
	  bootstrap.servers: $bootstrap
	redis:
	  url: unix://$dir/redis.sock
	index: $dir/fencepost.db
	pipelines:
	  orders:
	    topic: orders
	    group: orders-processor
	    state: count
	    epoch: "epoch:{topic}:{partition}"
	    dlq: orders-dlq
	END
}

# audit NAME: run it, keep the exit status in $status and the report in $dir/NAME.
audit()
{
	status=0
	run "$build/fencepost" audit -q -c "$dir/fencepost.yaml" -o "$dir/$1" || status=$?
	echo "exit status $status"
}

means()
{
	case $1 in
	fence-regressed) echo "the fence stands below a record that was committed: the effect of that record is lost" ;;
	fence-missing) echo "a committed record of the key, and no state at all" ;;
	fence-malformed) echo "the fence cannot be read: the script lets every record through, or fails for ever" ;;
	fence-ahead) echo "the fence stands where no record is yet: the next real ones will be skipped in silence" ;;
	fence-phantom) echo "the fence names a record of another key" ;;
	fence-orphan) echo "a state whose key is nowhere in the topic" ;;
	fence-off-home) echo "a record was applied from a partition that is not its key's" ;;
	fence-count) echo "the counter is not the number of records up to the fence: one was applied twice, or lost" ;;
	fence-value) echo "the stored value is not the one of the record at the fence" ;;
	copartition-cause) echo "who put records where their keys are not at home, since when, and what to set there" ;;
	copartition-break) echo "a producer hashes keys differently: joins on this key miss" ;;
	epoch-malformed) echo "the owner counter is no number: the script fails on the whole partition" ;;
	epoch-regressed) echo "the owner counter fell: a worker that lost the partition could write again" ;;
	commit-beyond-log) echo "the group has committed what does not exist: the next records will be passed over" ;;
	redis-replication-weak) echo "worth a note: this server has no replica, which is no harm in a demonstration" ;;
	*) echo "see: fencepost checks $1" ;;
	esac
}

show_findings()
{
	zstd -dcq "$dir/broken/findings.jsonl.zst" >"$dir/findings.jsonl"
	sqlite3 -separator '|' :memory: "
		WITH lines(text) AS (SELECT rtrim(CAST(readfile('$dir/findings.jsonl') AS TEXT), char(10)))
		SELECT json_extract(value, '$.check'), count(*), min(json_extract(value, '$.detail'))
		FROM lines, json_each('[' || replace(text, char(10), ',') || ']')
		GROUP BY 1 ORDER BY 1" >"$dir/findings.txt"
	while IFS='|' read -r check count detail; do
		printf '\n  %s (%s)\n    means: %s\n    e.g.   %s\n' "$check" "$count" "$(means "$check")" "$detail"
	done <"$dir/findings.txt"
}

harm()
{
	meaning="5 states fall back by 2 records, as after a failover" fault fence-back --count 5 --records 2
	meaning="2 states are gone" fault fence-lost --nth 20 --count 2
	meaning="a state without its offset" fault fence-no-field --nth 40
	meaning="a fence in the future" fault fence-ahead --nth 60
	meaning="a fence on another key's record" fault fence-foreign --nth 80
	meaning="a counter that counted one record twice" fault count-twice --nth 100
	meaning="a state that no record explains" fault fence-orphan
	meaning="a producer that places 30 keys by CRC-32" fault record-crc32 --nth 120 --count 30
	meaning="a partition's owner counter is overwritten" fault epoch-malformed --partition 3
}

for program in "$build/fencepost" "$pipe/mockbroker" "$pipe/generate" "$pipe/worker" "$pipe/fault"; do
	[ -x "$program" ] || die "$program is not built"
done
start_servers
write_config

say "1. A pipeline: 20,000 records in 6 partitions, counted in Redis behind the fence"
"$pipe/generate" -b "$bootstrap" -t orders --records 20000 --keys 2000 --seed 7 --poison 0.002 --null-keys 0.005 \
	>/dev/null
echo "the worker, killed after a Redis write, before it has produced or committed:"
crash=0
work --crash-after redis --crash-at 9 || crash=$?
[ "$crash" = 42 ] || die "the worker ended $crash, not by its crash point"
echo "and started again:"
work

say "2. The audit of the healthy pipeline (the mock broker tells no group's state: a real one does)"
audit healthy
healthy=$status

say "3. Harm"
harm

say "4. The audit of the broken pipeline"
audit broken
broken=$status

say "5. What was found, and what it means"
[ ! -e "$dir/broken/findings.jsonl.zst" ] || show_findings

if [ -n "${KEEP-}" ]; then
	say "The index and the reports are in $dir; the servers are gone."
else
	say "Servers and files of this demonstration are gone; KEEP=1 make demo leaves the files."
fi
say "healthy: exit $healthy (0 expected); broken: exit $broken (2 expected)"
[ "$healthy" = 0 ] && [ "$broken" = 2 ]
