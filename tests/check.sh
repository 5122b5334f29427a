#!/bin/sh
# The long part of `make check`: the end-to-end tests, which mostly wait for servers, and beside them, with whatever they
# leave of the processors, the unit tests and fuzzers as other compilers and the sanitizers build them.
#
#     MAKE=make BUILD=build sh tests/check.sh
set -u

log=$BUILD/variants.log
nice -n 19 "$MAKE" --no-print-directory -s WERROR=1 variants >"$log" 2>&1 &
variants=$!
trap 'kill "$variants" 2>/dev/null; exit 130' INT TERM

"$MAKE" --no-print-directory -s WERROR=1 e2e
e2e=$?
wait "$variants"
status=$?
cat "$log"
[ "$status" -eq 0 ] || echo "FAILED: make variants"
[ "$e2e" -eq 0 ] || echo "FAILED: make e2e"
[ "$e2e" -eq 0 ] && [ "$status" -eq 0 ]
