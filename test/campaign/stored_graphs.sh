#!/bin/sh
# Random graphs against themselves with values stored (test/bench/stored.py): results agree, however many values
# lie in memory. And the parts of that tool: drawing, putting `stored` behind operations, shrinking.
#
#   sh test/campaign/stored_graphs.sh BUILD LEVEL SEED
#
# LEVEL: test (a few seconds), short (minutes) or full (hours). The last line says what was tried; status 0, 1
# after a failure, 77 when it cannot run here.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=${1:-build} level=${2:-test} seed=${3:-1}
case $level in
test) count=6 ;;
short) count=200 ;;
full) count=10000 ;;
*) echo "no such level: $level; there are test, short and full" >&2; exit 2 ;;
esac
unset VIEWFOLD_DEVICE VIEWFOLD_THREADS VIEWFOLD_DEBUG VIEWFOLD_COMPILE
. test/python.sh
python=$(python_with numpy)
[ -n "$python" ] || { echo "skip: needs Python with numpy (package python3-numpy)"; exit 77; }
"$python" -B test/campaign/stored_graphs.py --build "$build" || { echo "test/campaign/stored_graphs.py failed"; exit 1; }
failed=0
for threads in 1 2; do # seeds differ, so that no graph is tried twice
  "$python" -B test/bench/stored.py --build "$build" --check --count $((count / 2)) --threads $threads --seed $((seed * 1000000 * threads)) ||
    failed=1
done
result=passed
[ $failed = 0 ] || result=failed
echo "seed $seed: $count random graphs against themselves with values stored, half of them with two threads, $result"
exit $failed
