#!/bin/sh
# Prove every rewrite rule: the rule compiler writes the obligations of passes/rules/*.rules, the solver decides them.
#
#   test/prove.sh BUILD_DIR
#
# The provers are the scripts in test/prove/, each of which is given BUILD_DIR and exits with 0 when all is proven.
set -u
cd "$(dirname "$0")/.." || exit 2
passed=0 failed=0
for script in test/prove/*.sh; do
  [ -e "$script" ] || { echo "prove: there are no provers in test/prove/"; break; }
  if sh "$script" "$1"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
