#!/bin/sh
# Random writes (test/conform/writes.py) with the sanitized libraries: build/san-address, and build/san-thread where it is
# built, inside of Python, which is not sanitized itself.
#
#   sh test/campaign/sanitized_writes.sh BUILD_DIR LEVEL SEED
#
# LEVEL test: a few programs; short: hundreds; full: thousands. Status 0, 1 where a program fails or a sanitizer complains, 77
# without NumPy or without a sanitized library.
. test/campaign/common.sh
. test/python.sh
python=$(python_with numpy)
[ -n "$python" ] || skip "there is no Python with numpy"
ran=0 failed=0
# The runtime of a sanitizer has to be loaded before the library: Python brings none. What Python itself leaves is not asked.
try() { # SANITIZER COUNT RUNTIME...
  [ -e "$build/san-$1/libviewfold.so.0" ] || return
  sanitizer=$1 count=$2 preloaded=
  shift 2
  for runtime; do preloaded="$preloaded $(${CC:-cc} -print-file-name="$runtime")"; done
  personality=
  [ "$sanitizer" = thread ] && personality="setarch $(uname -m) -R"
  ran=$((ran + count))
  LD_PRELOAD="${preloaded# }" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
    TSAN_OPTIONS="halt_on_error=1:suppressions=$PWD/test/campaign/threads.supp" \
    $prefix $personality "$python" -B test/conform/writes.py --build "$build/san-$sanitizer" --seed "$seed" --count "$count" --forms 3 \
    >"$work/log" 2>&1 || { failed=1; tail -n 60 "$work/log"; }
}
try address "$(at 4 300 10000)" libasan.so libubsan.so
try thread "$(at 2 100 2000)" libtsan.so
[ $ran = 0 ] && skip "no library is sanitized (make SAN=address all)"
echo "$ran random programs of writes under sanitizers, seed $seed"
exit $failed
