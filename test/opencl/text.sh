#!/bin/sh
# The text tests with every graph on PoCL's device; text.except lists the cases that cannot say the same there, each with
# its reason. Without a soak, those of one folder.
. test/opencl/common.sh
needs_pocl
needs build/run_text "make build/run_text"
folder=test/text
[ "$soak" = 0 ] && folder=test/text/run
$prefix build/run_text --bin "$build" --jobs "$(nproc)" --device opencl --except test/opencl/text.except \
  "$folder" >"$work/log"
status=$?
sed '$d' "$work/log"
echo "opencl text: $(tail -n 1 "$work/log")"
exit $status
