#!/bin/sh
# Processes that share a cache are killed.
. test/campaign/common.sh
needs "$build/viewfold" make
needs "$checked/killed" "make CHECK=1 tests"
$prefix "$checked/killed" --build "$build" --seed "$seed" --processes "$(at 32 64 64)" --iterations "$(at 1 10 100)"
