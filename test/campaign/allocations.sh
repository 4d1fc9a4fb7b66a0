#!/bin/sh
# Allocations of the context's allocator fail: every allocation of recording, compiling and running one graph
# of each kind, and of graphs that write references through views, and a sample of those of the workloads' graphs
# and of random graphs.
. test/campaign/common.sh
needs "$checked/allocations" "make CHECK=1 tests"
export VIEWFOLD_COMPILE=inprocess
$prefix "$checked/allocations" --seed "$seed" --step "$(at 800 20 1)" --jobs "$(at 1 2 2)" >"$work/kinds"
kinds=$?
cat "$work/kinds"
$prefix "$checked/allocations" --seed "$seed" --only none --step "$(at 400 20 1)" --jobs "$(at 1 2 2)" \
  --writes "$(at 2 8 192)" >"$work/writes"
writes=$?
cat "$work/writes"
others=0
if [ "$level" != test ]; then
  $prefix "$checked/allocations" --seed "$seed" --only none --step "$(at 0 400 20)" --jobs 2 --random "$(at 0 20 300)" \
    frontend/workloads/*.vf >"$work/others"
  others=$?
  [ $others = 0 ] || grep -v ' 0 wrong$' "$work/others"
  sed -n '$s/^/and others: /p' "$work/others"
  sed -n '$p' "$work/kinds"
fi
[ $kinds = 0 ] && [ $writes = 0 ] && [ $others = 0 ]
