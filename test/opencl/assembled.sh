#!/bin/sh
# Kernels for a GPU, compiled and assembled for one that need not be present, where clang has the target
# nvptx64 and ptxas is installed. The text that only such devices get has the right syntax; sums of a large
# product, and rows, stay in registers, of which there are enough for two groups of 256 work-items, with
# matrix instructions for one; locals are read 16 bytes at a time.
. test/opencl/common.sh
PATH=$PATH:/usr/local/cuda/bin
command -v ptxas >/dev/null || skip "there is no ptxas"
clang=
for name in clang clang-19 clang-18 clang-17 clang-16 clang-15; do
  "$name" --print-targets 2>/dev/null | grep -q nvptx64 && clang=$name
done
[ -n "$clang" ] || skip "there is no clang that knows nvptx64"
target='lanes=256 local=32768 vector_bytes=16 together=32 fma=1 features=+ptx,+cl_khr_fp64'
failed=0 done=0

# Functions that a driver's library would provide, defined after the prelude.
cat >"$work/library" <<'END'
#define get_group_id(x) ((ulong)__nvvm_read_ptx_sreg_ctaid_x())
#define barrier(x) __syncthreads()
#define fma(a, b, c) __builtin_fmaf(a, b, c)
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define sqrt(a) __builtin_sqrtf(a)
END

# The same for the functions that the prelude uses.
cat >"$work/conversions" <<'END'
#define get_local_id(x) ((ulong)__nvvm_read_ptx_sreg_tid_x())
#define convert_uint(x) ((uint)(x))
#define convert_ushort(x) ((ushort)(x))
#define vload_half(at, p) __builtin_astype((uint)*(const ushort *)(p) << 16, float)
#define vstore_half_rte(x, at, p) (*(ushort *)(p) = (ushort)(__builtin_astype(x, uint) >> 16))
#define vload2(at, p) ((ushort2)((p)[0], (p)[1]))
#define vload8(at, p) ((ushort8)((p)[0], (p)[1], (p)[2], (p)[3], (p)[4], (p)[5], (p)[6], (p)[7]))
#define vstore2(x, at, p) ((p)[0] = (x).s0, (p)[1] = (x).s1)
#define vstore8(x, at, p) ((p)[0] = (x).s0, (p)[1] = (x).s1, (p)[2] = (x).s2, (p)[3] = (x).s3, (p)[4] = (x).s4, \
  (p)[5] = (x).s5, (p)[6] = (x).s6, (p)[7] = (x).s7)
END

# assemble NAME REGISTERS BYTES PATTERN...: the graph is on standard input; the patterns must be in its
# assembler. At most REGISTERS registers are used, and at most BYTES bytes are spilled, such as values that a
# tile needs once.
assemble() {
  name=$1 most=$2 rest=$3
  shift 3
  cat >"$work/$name.vf"
  "$build/viewfold" dump --stage=opencl --target "$target" "$work/$name.vf" >"$work/text" 2>"$work/out" &&
    { cat "$work/conversions" && sed '/^kernel/,$d' "$work/text"; } >"$work/$name.cl" && cat "$work/library" >>"$work/$name.cl" &&
    sed -n '/^kernel/,$p' "$work/text" >>"$work/$name.cl" &&
    "$clang" -Dasm=__asm__ -target nvptx64-unknown-nvcl -Xclang -target-cpu -Xclang sm_80 -Xclang -target-feature \
      -Xclang +ptx70 -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -O3 -S "$work/$name.cl" -o "$work/$name.ptx" \
      2>"$work/out" && ptxas -arch=sm_80 -v -c "$work/$name.ptx" -o "$work/$name.cubin" >"$work/out" 2>&1 ||
    { echo "$name is not assembled:"; head -n 20 "$work/out"; failed=1; return; }
  done=$((done + 1))
  registers=$(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$work/out" | sort -n | tail -n 1)
  echo "$name: ${registers:-0} registers"
  [ "${registers:-999}" -le "$most" ] || { echo "$name: more than $most registers"; failed=1; }
  spilled=$(sed -n 's/.* \([0-9]*\) bytes spill stores.*/\1/p' "$work/out" | sort -n | tail -n 1)
  [ "${spilled:-999}" -le "$rest" ] || { echo "$name: not all is in registers"; cat "$work/out"; failed=1; }
  for pattern; do
    grep -q "$pattern" "$work/$name.ptx" || { echo "$name: there is no $pattern"; failed=1; }
  done
}

assemble product 128 0 'ld.shared.v4' 'fma.rn.f32' <<'END'
graph @product(%a: f32[4096,4096], %b: f32[4096,4096]) {
  %y = matmul %a, %b
  return %y
}
END
assemble softmax 64 0 'shfl.sync.bfly' <<'END'
graph @softmax(%x: f32[262144,1024]) {
  %y = softmax %x axis=-1
  return %y
}
END
assemble norm 64 0 'shfl.sync.bfly' <<'END'
graph @norm(%x: f32[349536,768], %w: f32[768], %b: f32[768]) {
  %n = layer_norm %x axis=-1 eps=1e-5
  %s = mul %n, %w
  %y = add %s, %b
  return %y
}
END
assemble transpose 64 0 <<'END'
graph @transpose(%x: f32[16384,16384]) {
  %y = permute %x order=[1,0]
  return %y
}
END
assemble columns 64 0 <<'END'
graph @columns(%x: f32[16384,16384]) {
  %y = sum %x axes=[0]
  return %y
}
END
target="$target matrix=16"
assemble residual 255 0 'ldmatrix.sync' <<'END'
graph @residual(%a: bf16[4096,4096], %b: bf16[4096,4096], %c: bf16[4096,4096]) {
  %p = matmul %a, %b
  %y = add %p, %c
  return %y
}
END
# product_by_matrix NAME DTYPE PATTERN: a name with `left` or `right` has that operand transposed.
# Two registers more are spilled than would be if the assembler saw what a lane is: 1 % of the time on an H200.
product_by_matrix() {
  case $1 in *left*) left='%l = permute %a order=[1,0]' x=%l ;; *) left= x=%a ;; esac
  case $1 in *right*) right='%r = permute %b order=[1,0]' y=%r ;; *) right= y=%b ;; esac
  printf 'graph @product(%%a: %s[4096,4096], %%b: %s[4096,4096]) {\n  %s\n  %s\n  %%y = matmul %s, %s\n  return %%y\n}\n' \
    "$2" "$2" "$left" "$right" $x $y >"$work/graph"
  assemble "$1_$2" 255 64 "mma.sync.aligned.m16n8k16.row.col.f32.$2.$2.f32" 'ld.global.v4.u32' 'st.shared.v4' "$3" \
    <"$work/graph"
}
product_by_matrix product bf16 'ldmatrix.sync.aligned.m8n8.x2.trans'
product_by_matrix product f16 'ldmatrix.sync.aligned.m8n8.x2.trans'
product_by_matrix product_left bf16 'ldmatrix.sync.aligned.m8n8.x4.trans'
product_by_matrix product_right bf16 'ld.shared'
product_by_matrix product_left_right bf16 'ldmatrix.sync.aligned.m8n8.x4.trans'
echo "assembled: $done graphs"
exit $failed
