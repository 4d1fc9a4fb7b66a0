#!/bin/sh
# Adds an elementwise operation, log10, to a copy of the tree as docs/extending.md says, one row and three functions in four
# files, and asks for everything that follows from them; then takes away each piece, and expects that the build or
# a short test says so.
#
#   sh test/campaign/added_operation.sh BUILD_DIR LEVEL SEED
#
# LEVEL test, short: skipped, since the tree is built again. full: all of it. SEED is not used. Status 0, 1 where something does
# not follow or a missing piece goes unnoticed, 77 where it cannot run.
set -u
cd "$(dirname "$0")/../.." || exit 2
[ "$2" = full ] || { echo "skip: the tree is built again, which only full does"; exit 77; }
. test/python.sh
python=$(python_with numpy)
[ -n "$python" ] || { echo "skip: needs Python with numpy (package python3-numpy)"; exit 77; }
from=$PWD
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir "$tree"
git ls-files -z 2>/dev/null | tar -c --null -T - 2>/dev/null | tar -x -C "$tree" || { echo "skip: not a checkout"; exit 77; }
cd "$tree" || exit 2
failed=0
fail() { echo "FAIL $1"; tail -5 "$work/log" | sed 's/^/  /'; failed=1; }
# runs COMMAND...: does it succeed? Its output is in $work/log.
runs() { "$@" >"$work/log" 2>&1; }
build() { runs make -j2 all; }

# after FILE LINE-PATTERN: inserts standard input behind the first line that matches.
after() {
  awk -v more="$(cat)" -v pattern="$2" '{ print } !done && $0 ~ pattern { print more; done = 1 }' "$1" >"$work/new" &&
    cat "$work/new" >"$1"
}
. test/page.sh
page_blocks "$from/docs/extending.md" "An operation" "$work/page" && page_apply "$work/page" >"$work/files" 2>"$work/log" ||
  fail "the changes of docs/extending.md"
[ "$(sort -u "$work/files" | grep -c '')" = 4 ] || fail "four files"
runs sh test/style.sh --derived build || fail "derived files"
cat >"$work/g.vf" <<'GRAPH'
graph @g(%x: f32[3,n=1..9]) {
  %y = log10 %x
  %z = transpose %y axis1=0 axis2=1
  return %z
}
GRAPH
expect() { # NAME WORD COMMAND...: the output has the word
  name=$1 word=$2
  shift 2
  runs "$@" && grep -q -e "$word" "$work/log" || fail "$name"
}
expect "compiled" '2.0' build/viewfold run "$work/g.vf" --in 'x=[[100],[10],[1]]' --check
expect "listed" '^| log10 | ' build/viewfold ops
expect "declared" 'vf_log10(vf_value x);' cat frontend/viewfold_operations.h
expect "exported" '^vf_log10$' cat test/abi.txt
expect "OpenCL" 'kernel' build/viewfold dump --stage=opencl "$work/g.vf"
expect "like NumPy" ' 0 failed' "$python" -B test/conform/numpy_oracle.py --build build --only log10 --count 40
expect "page of operations" ' 0 failed' sh -c 'make -s build/run_text && build/run_text --bin build test/text/ops.t'
expect "style" '^ok frontend/viewfold_operations.h' sh test/style.sh build
! grep '^FAIL' "$work/log" || fail "style"

# missing NAME FILE COMMAND...: without the piece, a change of FILE that is undone afterwards, COMMAND fails.
missing() {
  name=$1 file=$2
  shift 2
  if runs "$@"; then echo "FAIL nothing notices a missing $name"; failed=1; else echo "ok a missing $name is noticed: $(grep -m1 -E 'error|undefined|FAIL|no row|wrong|gone|new:' "$work/log" | cut -c1-110)"; fi
  cp "$work/saved" "$file"
  build || fail "the tree after $name was put back"
}
save() { cp "$1" "$work/saved"; }
short_tests() {
  make -j2 all && sh test/style.sh build | tee "$work/style" && ! grep '^FAIL' "$work/style" &&
    "$python" -B test/conform/numpy_oracle.py --build build --only log10 --count 4
}
save ir/elementary/elementary.c && sed -i '/^ir_ref ir_el_log10/,/^}/d' ir/elementary/elementary.c
missing expansion ir/elementary/elementary.c build
save passes/ops/derivative/elementwise.c && sed -i '/^RULE(log10)/,/^}/d' passes/ops/derivative/elementwise.c
missing derivative passes/ops/derivative/elementwise.c build
save test/conform/oracle/functions.py && sed -i '/^    "log10":/d' test/conform/oracle/functions.py
missing "comparison with NumPy" test/conform/oracle/functions.py short_tests
save frontend/viewfold_operations.h && sed -i '/vf_log10/d' frontend/viewfold_operations.h
missing declaration frontend/viewfold_operations.h short_tests
save codegen/llvm/arith.c && sed -i '/case IR_FLOAT_SQRT:/d' codegen/llvm/arith.c
missing "case of the LLVM emitter" codegen/llvm/arith.c build
save codegen/text/arith.c && sed -i '/case IR_INT_NEG:/d' codegen/text/arith.c
missing "case of the emitters of text" codegen/text/arith.c build
save ir/eval/scalar.c && sed -i '/case IR_FLOAT_MOD:/d' ir/eval/scalar.c
missing "case of the evaluator" ir/eval/scalar.c build
# A row of each class alone, without any function.
alone() { # NAME ROW
  save ir/ops.def
  echo "$2" | after ir/ops.def '"the logarithm to base 2"'
  missing "function of a row $1" ir/ops.def build
}
alone "PRIMITIVE of one operand" 'PRIMITIVE(HALF, half, PUBLIC, UNARY, "half", "", 0, NUMBER, NONE, none, NEVER, 1, "x / 2")'
alone "PRIMITIVE of two operands" 'PRIMITIVE(MEDIAL, medial, PUBLIC, BINARY, "medial", "", 0, NUMBER, NONE, none, NEVER, 1, "(a + b) / 2")'
alone "PRIMITIVE comparison" 'PRIMITIVE(NGT, ngt, PUBLIC, COMPARE, "ngt", "", 0, COMPARE, NONE, none, NEVER, 1, "not a > b")'
alone "PRIMITIVE of three operands" 'PRIMITIVE(MEDIAN, median, PUBLIC, TERNARY, "median", "", 0, FLOAT_ONLY, NONE, none, NEVER, 1, "the middle")'
alone "EXPANDED of two operands" 'EXPANDED(HYPOT, hypot, PUBLIC, BINARY, "hypot", "", 0, FLOAT, NONE, none, NEVER, 1, "sqrt(a * a + b * b)")'
alone "TYPED" 'TYPED(CUBE, cube, PUBLIC, UNARY, "cube", "", 0, NUMBER, NONE, none, NEVER, 1, "x * x * x")'
cd "$from" || exit 2
[ $failed = 0 ] && echo "an operation was added by one row and three functions, and each missing piece was noticed"
exit $failed
