#!/bin/sh
# Device c, whose kernels the C compiler compiles: text tests, and property tests with the oracles that they
# have. Random graphs are compared with the evaluator bit for bit, as LLVM's are; prop_object compares models
# as C files with programs. c_functions.inc compares the functions of vectors with those of scalars, by each compiler that
# is here, for this processor and for older ones, and without vectors.
. test/campaign/common.sh
command -v "${CC:-cc}" >/dev/null || skip "there is no C compiler"
needs "$build/run_text" "make build/run_text"
checked=$build/check/property
# property, cases at each level; a case takes a quarter of a second and more, since each kernel is a process
tests=test/text counts='prop_graph:10000 prop_object:10000 prop_control:1000 prop_nan:1000 prop_sizes:1000 prop_steps:1000 prop_ordered:300
  prop_reduce:500 prop_masks:1000 prop_contract:300 prop_row_groups:500 prop_vmap:500 prop_windows:300 prop_moments:300'
compilers="${CC:-cc} gcc clang clang-14 clang-19"
case $level in
test) tests='test/text/run/sizes.t' counts='prop_graph:4 prop_object:2' compilers= ;;
short) tests=test/text/run compilers=${CC:-cc} counts='prop_graph:60 prop_object:20 prop_control:30 prop_nan:30 prop_ordered:10' ;;
esac
export VIEWFOLD_DEVICE=c CCACHE_DISABLE=1 # a compiler's cache would lie among the tests' own files, in HOME
failed=0
"$build/run_text" --bin "$build" --jobs "$(nproc)" --device c --except test/campaign/c_form.except $tests || failed=1
for pair in $counts; do
  name=${pair%:*}
  needs "$checked/$name" "make CHECK=1 tests"
  "$checked/$name" --seed "$seed" --count "${pair#*:}" || failed=1
done
for compiler in $compilers; do
  command -v "$compiler" >/dev/null || continue
  for options in -march=native -march=x86-64-v3 -march=x86-64 '-march=native -DVF_SCALAR'; do
    # shellcheck disable=SC2086  # lists of words
    (cd codegen/c && cat prelude.inc vectors.inc memory.inc arithmetic.inc hardware.inc) | cat - test/campaign/c_functions.inc >"$work/functions.c" &&
      "$compiler" -std=c11 -O1 -Wall -Wextra -pedantic -ffp-contract=off $options "$work/functions.c" -lm -o "$work/functions" >"$work/log" 2>&1 &&
      ! grep 'warning:' "$work/log" && ! nm -u "$work/functions" | grep -wE '(floor|ceil|trunc|rint)f?' >"$work/log" && "$work/functions" >"$work/log" || { head -20 "$work/log"; echo "FAIL functions of vectors by $compiler $options"; failed=1; }
  done
done
echo "device c: ${tests#test/}, $counts, seed $seed: $([ $failed = 0 ] && echo passed || echo failed)" | tr -s '\n ' '  '
echo
exit $failed
