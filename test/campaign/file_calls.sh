#!/bin/sh
# Calls on files fail, one at a time; at level full for both ways of compiling.
. test/campaign/common.sh
needs "$build/viewfold" make
needs "$checked/file_calls" "make CHECK=1 tests"
needs "$build/campaign/file_calls.so" "make CHECK=1 tests"
command -v cc >/dev/null || skip "there is no cc, which compiles operations given as C source"
try() {
  $prefix "$checked/file_calls" --build "$build" --programs "$checked" --shim "$build/campaign/file_calls.so" \
    --seed "$seed" --count "$(at 40 400 0)"
}
[ "$level" = full ] || { try; exit; }
try
default=$?
VIEWFOLD_COMPILE=inprocess try && [ $default = 0 ]
