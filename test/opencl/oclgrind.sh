#!/bin/sh
# Kernels of random graphs in Oclgrind's simulator, which reports every access out of bounds, race between work-items and
# use of a value that nobody wrote: as devices of CPU type get them, and as those of GPU type do,
# without work-items that run together and with them. Results are compared as
# everywhere. Then the same with a mistake planted into every kernel, which it has to find.
. test/opencl/common.sh
needs_oclgrind
needs "$checked/property/prop_graph" "make CHECK=1 tests"
needs build/opencl/shim.icd "make CHECK=1 tests"
count=10
[ "$soak" = 1 ] && count=1000
export OCL_ICD_VENDORS="$PWD/build/opencl" VF_SHIM_DRIVER="$simulator" VIEWFOLD_DEVICE=opencl
export OCLGRIND_DATA_RACES=1 OCLGRIND_MAX_ERRORS=20
# In some copies between buffers it calls elements unwritten whose values are right; whether it or a kernel is wrong is not
# settled, so that this check is for a soak.
[ "$soak" = 1 ] && export OCLGRIND_UNINITIALIZED=1
# Its check of what nobody wrote crashes on shuffles of vectors that leave elements open, which only optimisation makes;
# and it knows OpenCL's functions alone.
export OCLGRIND_BUILD_OPTIONS='-cl-opt-disable -D__has_builtin(x)=0'

# simulate SETTINGS TARGET COUNT: what the simulator says is in $work/log.
simulate() {
  rm -f "$work/log"
  VF_SHIM=$1 VIEWFOLD_TEST_TARGET=$2 OCLGRIND_LOG=$work/log \
    $prefix "$checked/property/prop_graph" --seed "$seed" --count "$3" >"$work/out" 2>&1
}
failed=0
for target in lanes=0 lanes=64 'lanes=32 together=8'; do
  if ! simulate '' "$target" $count || [ -s "$work/log" ]; then
    echo "$target:"
    tail -n 60 "$work/out"
    head -n 60 "$work/log" 2>/dev/null
    failed=1
  fi
  sed -n '$p' "$work/out"
done
for plant in 'bounds:Invalid write' 'race:data race'; do
  simulate "plant=${plant%%:*}" lanes=64 4
  if ! grep -qi "${plant#*:}" "$work/log" 2>/dev/null; then
    echo "a planted mistake, ${plant%%:*}, was not found:"
    tail -n 20 "$work/out"
    failed=1
  fi
done
echo "oclgrind: $count random graphs for each of three kinds of device, 2 planted mistakes, seed $seed"
exit $failed
