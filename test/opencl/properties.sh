#!/bin/sh
# Property tests on PoCL's device: the same programs, the same oracles (properties.counts says how many
# cases). In a full soak once more with loops shaped for a device of GPU type, whose work-items PoCL computes
# one after the other; for devices of CPU and GPU type that lack doubles and correctly rounded division; and
# for devices of both types with less local memory than any real one. A target given here replaces those of
# the tests, so it must set `parts`, which prop_batch_stream needs.
. test/opencl/common.sh
needs_pocl
export VIEWFOLD_DEVICE=opencl
failed=0 ran=0
try_all() {
  while read -r name few more many; do
    case $name in \#* | '') continue ;; esac
    count=$(at_level "$few" "$more" "$many")
    [ "$count" = 0 ] && continue
    needs "$checked/property/$name" "make CHECK=1 tests"
    ran=$((ran + 1))
    $prefix "$checked/property/$name" --seed "$seed" --count "$count" || failed=$((failed + 1))
  done <test/opencl/properties.counts
}
try_all
if [ "$level" = full ]; then
  for target in lanes=64 'soft_f64=1 soft_division=1 parts=1024' 'lanes=64 soft_f64=1 soft_division=1'; do
    export VIEWFOLD_TEST_TARGET="$target"
    try_all
  done
  needs build/opencl/shim.icd "make CHECK=1 tests"
  export OCL_ICD_VENDORS="$PWD/build/opencl" VF_SHIM=local=8192
  for lanes in 64 0; do
    VIEWFOLD_TEST_TARGET="lanes=$lanes local=8192 arguments=1024 parts=1024"
    try_all
  done
fi
echo "opencl properties: $ran on PoCL, $failed failed, seed $seed"
[ $failed = 0 ]
