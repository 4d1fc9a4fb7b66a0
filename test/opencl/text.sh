#!/bin/sh
# The text tests with every graph on PoCL's device; text.except lists the cases whose output differs there,
# each with its reason. Except in a full soak only those of one folder, or a few of them.
. test/opencl/common.sh
needs_pocl
needs build/run_text "make build/run_text"
tests=test/text
case $level in
test) tests=test/text/run/wide.t ;;
short) tests=test/text/run ;;
esac
# shellcheck disable=SC2086  # a list of words
$prefix build/run_text --bin "$build" --jobs "$(nproc)" --device opencl --except test/opencl/text.except \
  $tests >"$work/log"
status=$?
sed '$d' "$work/log"
echo "opencl text: $(tail -n 1 "$work/log")"
exit $status
