#!/bin/sh
# Runs each fuzz target for some seconds: test/fuzz/run.sh SECONDS SEED TARGET...
#
# A target starts from the files of test/fuzz/corpus/NAME/ where there are any. The input of a crash is left
# in build/fuzz/NAME.input; `TARGET build/fuzz/NAME.input` runs it again. Reduced by hand, it becomes a file
# of the corpus.
set -u
cd "$(dirname "$0")/../.." || exit 2
seconds=$1 seed=${2:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
shift 2
passed=0 failed=0
mkdir -p build/fuzz
for target in "$@"; do
  name=${target##*/}
  echo "$name: $seconds seconds, seed $seed"
  if "$target" --seconds "$seconds" --seed "$seed" --input "build/fuzz/$name.input" test/fuzz/corpus/"$name"/*; then
    passed=$((passed + 1))
  else
    echo "FAIL $name: the input is in build/fuzz/$name.input"
    failed=$((failed + 1))
  fi
done
[ $# = 0 ] && echo "fuzz: there are no targets in test/fuzz/"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
