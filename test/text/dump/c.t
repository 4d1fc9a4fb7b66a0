# Kernels as C: what dump shows is a file that compiles.
<<< rows.vf
graph @rows(%x: f32[4,8], %y: f32[8]) {
  %s = mul %x, %y
  %h = add %s, 0.5
  return %h
}
>>>
<<< sorted.vf
graph @sorted(%x: f32[7]) {
  %s = sort %x
  return %s
}
>>>

== one line for each function of vectors, and a function for each kernel
$ viewfold dump --stage=c --target 'vector_bytes=32 registers=16' rows.vf > rows.c
$ sed -n '/^.. functions that the kernels use/,$p' rows.c | sed 's/_[0-9a-f]\{16\}(/(/' | grep .
/* functions that the kernels use */
VF_TYPE(f32, 8)
VF_load(f32, 8)
VF_mul(f32, f32, 8)
VF_splat(f32, 8)
VF_add(f32, f32, 8)
VF_store(f32, 8)
void vf_mul_add_f32(void *const *buffers, const i64 *vars, i64 begin, i64 end, void *scratch);
void vf_mul_add_f32(void *const *buffers, const i64 *vars, i64 begin, i64 end, void *scratch) {
  (void)vars;
  (void)scratch;
  f32 *p0 = buffers[0];
  (void)p0;
  const f32_anywhere *restrict p1 = buffers[1];
  (void)p1;
  const f32_anywhere *p2 = buffers[2];
  (void)p2;
  if (begin < end) {
    f32x8 v0 = load_f32x8(p1);
    for (i64 ridx6 = begin; ridx6 < end; ridx6++) {
      for (i64 ridx7 = 0; ridx7 < 4; ridx7++) {
        f32x8 v1 = load_f32x8(p2 + ridx7*8);
        f32x8 v2 = mul_f32x8(v1, v0);
        f32x8 v3 = add_f32x8(v2, splat_f32x8(0.5f));
        store_f32x8(p0 + ridx7*8, v3);
      }
    }
  }
}

== a compiler takes it without a warning, with vector extensions and without
$ viewfold dump --stage=c rows.vf > rows.c
$ for o in -O2 '-O1 -DVF_SCALAR'; do ${CC:-cc} -std=c11 -Wall -Wextra -pedantic -Werror $o -c rows.c -o rows.o 2>said || cat said; done

== the file of a program without kernels has no functions
$ viewfold dump --stage=c --target 'vector_bytes=32 registers=16' sorted.vf | sed -n '/^.. functions that the kernels use/,$p'
/* functions that the kernels use */
\

