#!/bin/sh
# Random graphs against NumPy (test/conform/random_graphs.py): with one thread and with two, which divide the
# work. Called in the root of the tree as
#
#   sh test/campaign/random_graphs.sh BUILD LEVEL SEED
#
# LEVEL: test (a few seconds), short (minutes) or full (hours). The last line says what was tried; status 0, 1
# after a failure, 77 when it cannot run here.
set -u
build=${1:-build} level=${2:-test} seed=${3:-1}
case $level in # graphs of fixed sizes, symbolic ones
test) static=60 symbolic=30 ;;
short) static=2000 symbolic=800 ;;
full) static=100000 symbolic=20000 ;;
*) echo "no such level: $level; there are test, short and full" >&2; exit 2 ;;
esac
unset VIEWFOLD_DEVICE VIEWFOLD_THREADS VIEWFOLD_DEBUG VIEWFOLD_COMPILE
. test/python.sh
python=$(python_with numpy)
[ -n "$python" ] || { echo "skip: needs Python with numpy (package python3-numpy)"; exit 77; }
prefix=
[ "$level" = test ] || prefix='nice -n 10'
failed=0
half() { # OPTION COUNT THREADS SEED: seeds differ, so that no graph is tried twice
  $prefix "$python" -B test/conform/random_graphs.py --build "$build" "$1" --count "$2" --threads "$3" --seed "$4"
  status=$?
  case $status in
  0) ;;
  77) exit 77 ;;
  *) failed=1 ;;
  esac
}
half --static $((static / 2)) 1 "$seed"
half --static $((static / 2)) 2 $((seed + 1))
half --symbolic $((symbolic / 2)) 1 "$seed"
half --symbolic $((symbolic / 2)) 2 $((seed + 1))
result=passed
[ $failed = 0 ] || result=failed
echo "seed $seed: $static random graphs and $symbolic symbolic ones, half of each with two threads, $result"
exit $failed
