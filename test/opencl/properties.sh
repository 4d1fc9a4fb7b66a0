#!/bin/sh
# Property tests on PoCL's device: the same programs, the same oracles (properties.counts says how many cases).
. test/opencl/common.sh
needs_pocl
export VIEWFOLD_DEVICE=opencl
failed=0 ran=0
while read -r name count many; do
  case $name in \#* | '') continue ;; esac
  [ "$soak" = 1 ] && count=$many
  [ "$count" = 0 ] && continue
  needs "$checked/property/$name" "make CHECK=1 tests"
  ran=$((ran + 1))
  $prefix "$checked/property/$name" --seed "$seed" --count "$count" || failed=$((failed + 1))
done <test/opencl/properties.counts
echo "opencl properties: $ran on PoCL, $failed failed, seed $seed"
[ $failed = 0 ]
