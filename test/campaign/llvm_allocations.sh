#!/bin/sh
# Failed allocations inside LLVM, in the process that compiles (test/campaign/llvm_allocations.c).
#
#   test/campaign/llvm_allocations.sh BUILD_DIR LEVEL SEED     LEVEL: test, short or full
#
# The last line says what was tried; status 0, 1 after a failure, 77 where it cannot run.
set -u
build=$1 level=$2 seed=$3
case $level in
test) count=20 ;;
short) count=404 ;;
full) count=5000 ;;
*) echo "the level is test, short or full, found '$level'"; exit 1 ;;
esac
for dir in "$build" build/check build; do
  [ -x "$dir/campaign/llvm_allocations" ] && exec "$dir/campaign/llvm_allocations" --seed "$seed" --count "$count"
done
echo "llvm_allocations is not built: make CHECK=1 tests"
exit 77
