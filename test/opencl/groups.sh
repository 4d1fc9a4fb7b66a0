#!/bin/sh
# Loop nests as scheduled for devices of GPU type with much work, at shapes small enough for a simulator:
# products with tiles of eight by eight sums for each work-item, softmax and layer norm of rows longer than a
# group. On PoCL, whose device is reported as a GPU, results are compared with the reference evaluator's; in
# Oclgrind's simulator, where that is installed, there must also be no race and no access out of bounds.
. test/opencl/common.sh
needs_pocl
needs build/opencl/shim.icd "make CHECK=1 tests"
export OCL_ICD_VENDORS="$PWD/build/opencl"
failed=0 done=0

# make_elements NAME SHAPE DTYPE: NAME.npy, of small whole numbers
elements() {
  printf 'graph @f() {\n  %%i = iota shape=[%s] axis=0 dtype=i32\n  %%j = iota shape=[%s] axis=1 dtype=i32\n' "$2" "$2"
  printf '  %%a = mul %%i, 7\n  %%b = mul %%j, 5\n  %%c = add %%a, %%b\n  %%d = mod %%c, 17\n  %%e = sub %%d, 8\n'
  printf '  %%y = cast %%e dtype=%s\n  return %%y\n}\n' "$3"
} >"$work/elements.vf"
make_elements() { # by the processor, where a kernel is compiled soonest; once for each shape and type
  made="$work/elements-$2-$3.npy"
  [ -e "$made" ] || {
    elements "$@"
    "$build/viewfold" run "$work/elements.vf" --out "y=$made" >"$work/out" 2>&1 || { cat "$work/out"; failed=1; }
  }
  cp "$made" "$work/$1.npy"
}

# check WHAT [OPTION...]: runs $work/graph.vf. The simulator's messages are in the command's output.
check() {
  what=$1
  shift
  $prefix "$build/viewfold" run "$work/graph.vf" --device opencl --check "$@" >"$work/out" 2>&1
  status=$?
  done=$((done + 1))
  [ $status = 0 ] && ! grep -Evq '^[0-9]+ warnings? generated\.$|^[yn]: [a-z0-9]+\[|^check [yn]: ' "$work/out" && return
  echo "$what: status $status"
  head -n 60 "$work/out"
  failed=1
}

# 16 work-items, 4 by 4; each has two by two blocks of four by four.
tile='split a0 32; split a0 16; split a0 4; split a1 32; split a1 16; split a1 4'
tile="$tile; reorder a0.0 a1.0 a0.1 a1.1 a0.2 a1.2 a0.3 a1.3; unroll a0.1 a1.1 a0.3 a1.3; vector a0.2 a1.2"
echo "kernel 0 nest 0: $tile; thread a0.0 a1.0" >"$work/tile"

# product ROWS TERMS COLUMNS DTYPE [transposed]: the second operand as it is, or stored transposed
product() {
  second="$2,$3" z=%z permute=
  [ "${5:-}" = transposed ] && second="$3,$2" z=%b permute='  %b = permute %z order=[1,0]'
  make_elements x "$1,$2" "$4"
  make_elements z "$second" "$4"
  {
    printf 'graph @m(%%x: %s[%s,%s], %%z: %s[%s]) {\n' "$4" "$1" "$2" "$4" "$second"
    printf '%s\n  %%y = matmul %%x, %s\n  return %%y\n}\n' "$permute" "$z"
  } >"$work/graph.vf"
  check "$*" --in "x=$work/x.npy" --in "z=$work/z.npy" --schedule "$work/tile"
}

# A symbolic number of rows: the remainder of the tiles has loops of its own.
narrow='split a0 16; split a0 4; split a1 8; split a1 4; reorder a0.0 a1.0 a0.1 a1.1 a0.2 a1.2; unroll a0.1 a1.1'
echo "kernel 0 nest 0: $narrow; vector a0.2 a1.2; thread a0.0 a1.0" >"$work/narrow"
some_rows() { # ROWS TERMS COLUMNS
  make_elements x "$1,$2" f32
  make_elements z "$2,$3" f32
  {
    printf 'graph @m(%%x: f32[n=1..100,%s], %%z: f32[%s,%s]) {\n' "$2" "$2" "$3"
    printf '  %%y = matmul %%x, %%z\n  return %%y\n}\n'
  } >"$work/graph.vf"
  check "some rows $*" --in "x=$work/x.npy" --in "z=$work/z.npy" --schedule "$work/narrow"
}

rows() { # ROWS COLUMNS
  make_elements x "$1,$2" f32
  {
    printf 'graph @r(%%x: f32[%s,%s]) {\n  %%y = softmax %%x axis=-1\n' "$1" "$2"
    printf '  %%n = layer_norm %%x axis=-1 eps=1e-5\n  return %%y, %%n\n}\n'
  } >"$work/graph.vf"
  check "rows $*" --in "x=$work/x.npy"
}

all() {
  product 33 17 37 f32 transposed
  some_rows 29 20 40
  [ "$level" = test ] && return
  product 40 20 40 f32
  product 34 9 48 i32
  [ "$level" = full ] || return
  product 70 41 50 f16 transposed
  product 64 40 64 f64
  product 96 200 33 bf16
}
export VF_SHIM='gpu group=16 local=16384'
all
rows 3 100
rows 2 48
if command -v oclgrind >/dev/null; then
  simulator=$(find /usr/lib /usr/local/lib -name liboclgrind-rt-icd.so 2>/dev/null | head -n 1)
  export VF_SHIM_DRIVER="$simulator" OCLGRIND_DATA_RACES=1 OCLGRIND_MAX_ERRORS=20
  unset OCLGRIND_LOG
  export OCLGRIND_BUILD_OPTIONS='-cl-opt-disable -D__has_builtin(x)=0' VIEWFOLD_CACHE_DIR="$work/other"
  all
  rows 3 100
fi
echo "groups: $done graphs"
exit $failed
