#!/bin/sh
# Device c, whose kernels the C compiler compiles: text tests, and property tests with the oracles that they
# have. Random graphs are compared with the evaluator bit for bit, as LLVM's are; prop_object compares models
# as C files with programs.
. test/campaign/common.sh
command -v "${CC:-cc}" >/dev/null || skip "there is no C compiler"
needs "$build/run_text" "make build/run_text"
checked=$build/check/property
# property, cases at each level; a case takes a quarter of a second and more, since each kernel is a process
tests=test/text counts='prop_graph:10000 prop_object:10000 prop_control:1000 prop_nan:1000 prop_sizes:1000 prop_steps:1000 prop_ordered:300
  prop_reduce:500 prop_masks:1000 prop_contract:300 prop_row_groups:500 prop_vmap:500 prop_windows:300 prop_moments:300'
case $level in
test) tests='test/text/run/sizes.t' counts='prop_graph:4 prop_object:2' ;;
short) tests=test/text/run counts='prop_graph:60 prop_object:20 prop_control:30 prop_nan:30 prop_ordered:10' ;;
esac
export VIEWFOLD_DEVICE=c
failed=0
"$build/run_text" --bin "$build" --jobs "$(nproc)" --device c --except test/campaign/c_form.except $tests || failed=1
for pair in $counts; do
  name=${pair%:*}
  needs "$checked/$name" "make CHECK=1 tests"
  "$checked/$name" --seed "$seed" --count "${pair#*:}" || failed=1
done
echo "device c: ${tests#test/}, $counts, seed $seed: $([ $failed = 0 ] && echo passed || echo failed)" | tr -s '\n ' '  '
echo
exit $failed
