#!/bin/sh
# The GPU check (test/bench/gpu.sh), on PoCL: it reports a missing driver; and workloads, at small shapes,
# have right results and are timed, on a device of either type.
. test/opencl/common.sh
needs_pocl
needs "$build/bench/bench_device" "make build/bench/bench_device"
needs build/opencl/shim.icd "make CHECK=1 tests"
python=
for p in ${PYTHON:-} python3 /usr/bin/python3; do
  "$p" -c 'import numpy' >/dev/null 2>&1 && { python=$p; break; }
done
[ -n "$python" ] || skip "there is no NumPy; .ci/deps install conform"
failed=0
mkdir "$work/none"
if ! ldconfig -p | grep -q libnvidia-opencl; then
  OCL_ICD_VENDORS=$work/none sh test/bench/gpu.sh --small >"$work/out" 2>&1
  status=$?
  { [ $status = 3 ] && grep -q 'NO OpenCL driver' "$work/out"; } ||
    { echo "without a driver: status $status"; cat "$work/out"; failed=1; }
fi
time_all() { # TYPE WORKLOADS
  $prefix "$python" test/bench/gpu.py --build "$build" --mib 0.5 --product 96 --seconds 0.01 --torch none --only "$2" \
    >"$work/out" 2>&1 || { echo "a device of $1 type:"; cat "$work/out"; failed=1; }
}
time_all CPU "$(at_level V1,M_bf16 V1,R4,M_f32,M_bf16,launch64 '')"
export OCL_ICD_VENDORS="$PWD/build/opencl" VF_SHIM='gpu local=49152'
time_all GPU "$(at_level R4,M_f32 V1,R4,M_f32,M_bf16,launch64 '')"
tail -n 1 "$work/out"
exit $failed
