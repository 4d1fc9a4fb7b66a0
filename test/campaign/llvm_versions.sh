#!/bin/sh
# The versions of LLVM that the Makefile accepts, as far as they are here beside the one that the build uses: a copy of the tree is
# built with each, without warnings, and random graphs and text tests of runs are compared with the evaluator.
#
# LEVEL test: skipped, since the tree is built again. short, full: 200 and 2,000 graphs with each version.
. test/campaign/common.sh
[ "$level" != test ] || skip "the tree is built again, which short and full do"
ours=$(${LLVM_CONFIG:-llvm-config-19} --version 2>/dev/null) tried= failed=0
git ls-files -z 2>/dev/null | tar -c --null -T - 2>/dev/null | tar -x -C "$work" || skip "not a checkout"
for version in $(sed -n 's/^LLVM_VERSIONS := //p' Makefile); do
  config=$(command -v "llvm-config-$version" || command -v "/usr/lib/llvm-$version/bin/llvm-config") || continue
  [ "${ours%%.*}" != "$version" ] || continue
  tried="$tried $version"
  (
    cd "$work" || exit 1
    export LLVM_CONFIG="$config"
    make -s all build/run_text >log 2>&1 && make -s CHECK=1 all build/check/property/prop_graph build/check/property/viewfold-llvm.so >log 2>&1 ||
      { tail -20 log; echo "FAIL building with LLVM $version"; exit 1; }
    readelf -d build/viewfold-llvm.so | grep -q "NEEDED.*libLLVM.*$version" || { echo "FAIL the module is linked with another LLVM than $version"; exit 1; }
    $prefix build/check/property/prop_graph --seed "$seed" --count "$(at 0 200 2000)" && $prefix build/run_text --bin build test/text/run test/text/compose
  ) || failed=1
done
[ -n "$tried" ] || skip "no other version of LLVM is here (package llvm-18-dev, or another)"
echo "LLVM$tried: seed $seed, $([ $failed = 0 ] && echo passed || echo failed)"
exit $failed
