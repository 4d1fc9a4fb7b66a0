# For the jobs of this folder, which are called in the root of the tree as
#
#   sh test/campaign/JOB.sh BUILD LEVEL SEED
#
# BUILD: where the command is; below it, check/campaign and san-thread/campaign hold what `make CHECK=1 tests` and
# `make SAN=thread tests` build. LEVEL: test (a few seconds of processor time), short (a minute or two) or full. A job
# prints what was tried in its last line, and exits with 0, with 1 after a failure, with 77 (and why) when it cannot run
# here.
set -u
build=${1:-build} level=${2:-test} seed=${3:-1}
checked=$build/check/campaign
case $level in
test | short | full) ;;
*) echo "no such level: $level; there are test, short and full" >&2; exit 2 ;;
esac

skip() { echo "skip: $*"; exit 77; }
needs() { # FILE MADE-BY
  [ -e "$1" ] || skip "$1 is not built ($2)"
}
# at TEST SHORT FULL: prints the one for the level.
at() {
  case $level in test) echo "$1" ;; short) echo "$2" ;; full) echo "$3" ;; esac
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export VIEWFOLD_CACHE_DIR="$work/cache" POCL_CACHE_DIR="$work/pocl" TMPDIR="$work" LC_ALL=C
mkdir -p "$work/pocl"
# As in test/opencl/common.sh.
export POCL_WORK_GROUP_METHOD=loops
unset VIEWFOLD_DEVICE VIEWFOLD_THREADS VIEWFOLD_DEBUG VIEWFOLD_COMPILE
prefix=
[ "$level" = test ] || prefix='nice -n 10'
