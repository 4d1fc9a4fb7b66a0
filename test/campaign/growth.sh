#!/bin/sh
# How the work of commands grows with the size of their input, in instructions (growth.py): graphs of many
# parameters, results, operations of each kind, sizes, views, literals, and long index expressions.
#
#   sh test/campaign/growth.sh BUILD_DIR LEVEL SEED
#
# LEVEL test: the three families that show most. short: `explain --no-run` of every family, which runs all
# passes, and long chains of `index`. full: every command, four times as large. SEED is not used: nothing is
# random. Status 0, 1 where something grows faster than its size or fails, 77 without Python or valgrind.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$1 level=$2
. test/python.sh
python=$(python_with argparse)
[ -n "$python" ] || { echo "growth: there is no Python"; exit 77; }
command -v valgrind >/dev/null || { echo "growth: there is no valgrind"; exit 77; }
case $level in
test) set -- --pairs test --most 2.5 ;;
short) set -- --size 40 --command 'explain --no-run,index' ;;
full) set -- --size 160 ;;
*) echo "growth: LEVEL is test, short or full, found '$level'"; exit 2 ;;
esac
exec "$python" test/campaign/growth.py --build "$build" "$@"
