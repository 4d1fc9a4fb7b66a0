#!/bin/sh
# Builds the library with a mistake in what orders writes, one at a time, and lets random programs find it
# (write_mutants.py, write_mutants.list).
#
#   sh test/campaign/write_mutants.sh BUILD_DIR LEVEL SEED
#
# LEVEL test: one mutant, which SEED chooses, and that all can be made; short and full: all of them. SEED draws the
# programs. Status 0, 1 where a mutant is not found by 1,000 programs or cannot be made, 77 without NumPy.
. test/campaign/common.sh
. test/python.sh
python=$(python_with numpy)
[ -n "$python" ] || skip "there is no Python with numpy"
needs "$build/list" make
mutants=$(at "--mutants 1" "" "")
# shellcheck disable=SC2086  # words
$prefix "$python" -B test/campaign/write_mutants.py --build "$build" --seed "$seed" --programs 1000 $mutants
