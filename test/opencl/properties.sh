#!/bin/sh
# Property tests on PoCL's device: the same programs, the same oracles (properties.counts says how many cases). In a soak
# again with loops shaped for a device of GPU type, whose work-items PoCL computes one after the other.
. test/opencl/common.sh
needs_pocl
export VIEWFOLD_DEVICE=opencl
failed=0 ran=0
try_all() {
  while read -r name count many; do
    case $name in \#* | '') continue ;; esac
    [ "$soak" = 1 ] && count=$many
    [ "$count" = 0 ] && continue
    needs "$checked/property/$name" "make CHECK=1 tests"
    ran=$((ran + 1))
    timeout "$limit" $prefix "$checked/property/$name" --seed "$seed" --count "$count" || failed=$((failed + 1))
  done <test/opencl/properties.counts
}
try_all
if [ "$soak" = 1 ]; then
  export VIEWFOLD_TEST_TARGET=lanes=64
  try_all
fi
echo "opencl properties: $ran on PoCL, $failed failed, seed $seed"
[ $failed = 0 ]
