#!/bin/sh
# The unit tests, with PoCL's device in place of the CPU wherever a test leaves the device open: these tests
# must hold for both. Except in a full soak only a few, which take seconds.
. test/opencl/common.sh
needs_pocl
needs "$checked/unit/test_api" "make CHECK=1 tests"
tests=$(cd "$checked/unit" && find . -name 'test_*' -type f -perm -u+x | sort)
[ "$level" = full ] || tests='test_api test_jacobian test_watch'
export VIEWFOLD_DEVICE=opencl CMOCKA_MESSAGE_OUTPUT=TAP
passed=0 failed=0
for test in $tests; do
  $prefix "$checked/unit/$test" >"$work/log" 2>&1
  status=$?
  passed=$((passed + $(grep -c '^ok ' "$work/log")))
  [ $status = 0 ] && continue
  echo "FAIL $test, exit status $status"
  tail -n 60 "$work/log"
  failed=$((failed + 1))
done
echo "opencl units: $passed functions of $(echo "$tests" | wc -w) programs passed, $failed programs failed"
[ $failed = 0 ]
