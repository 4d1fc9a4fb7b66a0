#!/bin/sh
# The unit tests, with PoCL's device in place of the CPU wherever a test leaves the device open: these tests
# must hold for both. Except in a full soak only a few, which take seconds. Then once more on a device of GPU
# type with memory of its own (shim.h): kernels have lanes, and runs copy the host's arrays.
. test/opencl/common.sh
needs_pocl
needs "$checked/unit/test_api" "make CHECK=1 tests"
needs build/opencl/shim.icd "make CHECK=1 tests"
tests=$(cd "$checked/unit" && find . -name 'test_*' -type f -perm -u+x | sort)
of_gpu=$tests
[ "$level" = full ] || tests='test_api test_watch' of_gpu='test_jacobian test_found_sizes'
export VIEWFOLD_DEVICE=opencl CMOCKA_MESSAGE_OUTPUT=TAP
passed=0 failed=0 programs=0
run_all() { # TYPE TEST...
  type=$1
  shift
  for test; do
    $prefix "$checked/unit/$test" >"$work/log" 2>&1
    status=$?
    programs=$((programs + 1))
    passed=$((passed + $(grep -c '^ok ' "$work/log")))
    [ $status = 0 ] && continue
    echo "FAIL $test, a device of $type type, exit status $status"
    tail -n 60 "$work/log"
    failed=$((failed + 1))
  done
}
# shellcheck disable=SC2086  # lists of words
{
  run_all CPU $tests
  export OCL_ICD_VENDORS="$PWD/build/opencl" VF_SHIM='gpu local=49152'
  run_all GPU $of_gpu
}
echo "opencl units: $passed functions of $programs programs passed, $failed programs failed"
[ $failed = 0 ]
