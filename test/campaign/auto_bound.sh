#!/bin/sh
# The automatic choice of shardings of 24 transformer blocks against bounds of an integer program.
#
#   sh test/campaign/auto_bound.sh BUILD_DIR LEVEL SEED
#
# LEVEL test, short: skipped, since HiGHS takes minutes. full: all. SEED is not used. Status 0, 1 where the choice is dearer by
# more than 2 %, or takes too long, 77 where it cannot run.
set -u
cd "$(dirname "$0")/../.." || exit 2
[ "$2" = full ] || { echo "skip: HiGHS takes minutes, which only full does"; exit 77; }
. test/python.sh
python=$(python_with scipy)
[ -n "$python" ] || { echo "skip: needs Python with scipy (package python3-scipy)"; exit 77; }
exec "$python" test/campaign/auto_bound.py "$1/campaign/auto_problem" "$1/campaign/training_step"
