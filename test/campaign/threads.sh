#!/bin/sh
# Threads that record, compile and run graphs, and threads that are the devices of a mesh or the processes that have these; under ThreadSanitizer where
# that is built, which every level but `test` asks for.
. test/campaign/common.sh
program=$build/san-thread/campaign/threads
export VIEWFOLD_COMPILE=inprocess
if [ "$level" = test ] && [ ! -e "$program" ]; then
  needs "$checked/threads" "make CHECK=1 tests"
  "$checked/threads" --seed "$seed" --seconds 2
  exit
fi
needs "$program" "make SAN=thread tests"
export TSAN_OPTIONS="suppressions=$PWD/test/campaign/threads.supp:print_suppressions=0:halt_on_error=0"
# The sanitizer needs fixed addresses, which randomised address space layout may give to something else.
for property in prop_exchange prop_ranks; do
  $prefix setarch "$(uname -m)" -R "$build/san-thread/property/$property" --seed "$seed" --count "$(at 500 20000 500000)" ||
    exit 1
done
$prefix setarch "$(uname -m)" -R "$program" --seed "$seed" --seconds "$(at 5 90 1800)"
