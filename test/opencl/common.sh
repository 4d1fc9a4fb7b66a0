# For the jobs of this folder, which run.sh runs in the root of the tree as
#
#   sh test/opencl/JOB.sh BUILD CHECKED LEVEL SEED
#
# BUILD: where the command is; CHECKED: where property tests are; LEVEL: test, short or full, how much is tried. A job prints
# what was tried in its last line, and exits with 0, with 1 after a failure, with 77 (and why) when it cannot run here. Each
# of its processes has run.sh's limit of processor time.
set -u
build=$1 checked=$2 level=$3 seed=$4
# at_level TEST SHORT FULL: prints the one of the level
at_level() { case $level in full) echo "$3" ;; short) echo "$2" ;; *) echo "$1" ;; esac; }
PATH=$PATH:/sbin:/usr/sbin

skip() { echo "skip: $*"; exit 77; }
needs_pocl() {
  [ -e /etc/OpenCL/vendors/pocl.icd ] || skip "there is no PoCL; .ci/deps install opencl"
  ldconfig -p | grep -q 'libOpenCL\.so\.1' || skip "there is no OpenCL loader; .ci/deps install opencl"
}
needs_oclgrind() {
  command -v oclgrind >/dev/null || skip "there is no oclgrind; .ci/deps install opencl"
  simulator=$(find /usr/lib /usr/local/lib -name liboclgrind-rt-icd.so 2>/dev/null | head -n 1)
  [ -n "$simulator" ] || skip "oclgrind has no liboclgrind-rt-icd.so here"
}
needs() { # FILE MADE-BY
  [ -e "$1" ] || skip "$1 is not built ($2)"
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export VIEWFOLD_CACHE_DIR="$work/cache" POCL_CACHE_DIR="$work/pocl"
mkdir -p "$work/pocl"
# Otherwise PoCL 3.1 unrolls groups of two work-items, and an assertion of its own fails where such a group
# has nested loops before a barrier. Only tests make such groups there: on a processor, groups have one
# work-item.
export POCL_WORK_GROUP_METHOD=loops
# In `make test` without the optimizer of PoCL, which is up to a third of the time of a job; the soaks have it.
[ "$level" = test ] && export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable
# A full soak runs for long, at low priority.
prefix=
[ "$level" = full ] && prefix='nice -n 10'
