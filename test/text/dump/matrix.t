# Products of f16 and bf16 on targets with matrix instructions for groups of work-items (docs/opencl.md).
<<< f16.vf
graph @m(%a: f16[16,128], %b: f16[128,8]) {
  %y = matmul %a, %b
  return %y
}
>>>
<<< many.sh
# many.sh ROWS TERMS COLUMNS DTYPE TARGET: prints how many matrix instructions each work-item has, and the
# size of a group
printf 'graph @m(%%a: %s[%s,%s], %%b: %s[%s,%s]) {\n  %%y = matmul %%a, %%b\n  return %%y\n}\n' $4 $1 $2 $4 $2 $3 >m.vf
viewfold dump --stage=opencl --target "together=32 fma=1 local=32768 $5" m.vf | sed -n '/^kernel/,$p' >m.cl
echo "$(grep -c 'VF_MATRIX(' m.cl) of $(sed -n 's/.*reqd_work_group_size(\([0-9]*\).*/\1/p' m.cl)"
>>>

== as loops: K blocks of 32 terms, in locals in the order of memory; the sum of each block begins with zero
$ viewfold dump --stage=loops --target 'lanes=32 local=32768 together=32 matrix=16 fma=1 vector_bytes=16 registers=32' f16.vf
\# kernel 0 nest 0: split a0 16; split a0 8; split a1 8; split a1 2; reorder a0.0 a1.0 a0.1 a0.2 a1.1 a1.2; unroll a0.1 a1.2; vector a0.2 a1.1; thread a0.0 a1.0
kernel @m_0(p0: f16[128], p1: f16[1024], p2: f16[2048]) {
  for ridx5 in 0..1 thread {
    for ridx10 in 0..2 unroll {
      %0 = (ridx10*64) : index
      %1 = (ridx10*320) : index
      for ridx11 in 0..32 vector {
        %2 = (ridx11*2) : index
        %3 = ((ridx11//4)*40) : index
        %4 = ((ridx11//4)*-8) : index
        for ridx12 in 0..2 unroll {
          %5 = for ridx13 in 0..4 with %6 = f32(0.0) {
            local l0: f16[640] over ridx13
            %7 = (ridx13*32) : index
            for ridx15 in 0..2 unroll {
              %8 = (ridx15*320) : index
              %9 = (ridx15*1024) : index
              for ridx16 in 0..32 vector {
                %10 = (ridx16*8) : index
                %11 = ((ridx16//4)*128) : index
                %12 = ((ridx16//8)*-280) : index
                %13 = ((ridx16//4)*480) : index
                %14 = ((ridx16//8)*-896) : index
                for ridx17 in 0..8 unroll {
                  %15 = load p2[(%7+%9+%10+ridx17+%13+%14)] : f16
                  store l0[(%8+%10+ridx17+%11+%12)] = %15
                }
              }
            }
            local l1: f16[512] over ridx13
            %16 = (ridx13*256) : index
            for ridx18 in 0..1 unroll {
              %17 = (ridx18*512) : index
              %18 = (ridx18*256) : index
              for ridx19 in 0..32 vector {
                %19 = (ridx19*16) : index
                %20 = (ridx19*8) : index
                for ridx20 in 0..8 unroll {
                  %21 = load p1[(%16+%18+%20+ridx20)] : f16
                  store l1[(%17+%19+ridx20)] = %21
                }
              }
            }
            %22 = for ridx14 in 0..32 with %23 = f32(0.0) {
              %24 = load l0[(%1+ridx14+%3)] : f16
              %25 = cast %24 dtype=f32 : f32
              %26 = load l1[(%2+ridx12+(ridx14*16)+%4)] : f16
              %27 = cast %26 dtype=f32 : f32
              %28 = fma %25, %27, %23 : f32
              next %28
            }
            %29 = add %6, %22 : f32
            next %29
          }
          %30 = cast %5 dtype=f16 : f16
          store p0[(%0+%2+ridx12)] = %30
        }
      }
    }
  }
}

== the registers of a work-item: operands of two rows and of one column
$ viewfold dump --stage=opencl --target 'lanes=32 local=32768 together=32 matrix=16 fma=1 vector_bytes=16 registers=32' f16.vf | sed -n '/^kernel/,$p' | sed 's/_[0-9a-f]*(global/(global/'
kernel __attribute__((reqd_work_group_size(32, 1, 1))) void vf_cast_fma_add_f16(global ushort *restrict b0, long o0, global const ushort *restrict b1, long o1, global const ushort *restrict b2, long o2, global int *status, long count, long grain) {
  local ushort l0[640] __attribute__((aligned(16)));
  local ushort l1[512] __attribute__((aligned(16)));
  VF_MATRIX_LOCAL(192)
  global ushort *p0 = b0 + o0;
  global const ushort *p1 = b1 + o1;
  global const ushort *p2 = b2 + o2;
  int lane = get_local_id(0);
  long begin = get_group_id(0) * grain, end = min(begin + grain, count);
  int v0 = 8*lane + 128*(lane >> 2) + -280*(lane >> 3);
  int v1 = 8*lane + 480*(lane >> 2) + -896*(lane >> 3);
  float v2_0 = 0.0f;
  float v2_2 = 0.0f;
  float v2_1 = 0.0f;
  float v2_3 = 0.0f;
  uint4 v3;
  uint4 v4;
  uint4 v5;
  if (VF_ALIGNED_8(p2)) {
    v3 = VF_LOAD_ALIGNED_8(p2 + v1);
    v4 = VF_LOAD_ALIGNED_8(p2 + (1024 + v1));
  }
  else {
    v3 = VF_LOAD_UNALIGNED_8(p2 + v1);
    v4 = VF_LOAD_UNALIGNED_8(p2 + (1024 + v1));
  }
  if (VF_ALIGNED_8(p1)) {
    v5 = VF_LOAD_ALIGNED_8(p1 + lane*8);
  }
  else {
    v5 = VF_LOAD_UNALIGNED_8(p1 + lane*8);
  }
  for (int ridx13 = 0; ridx13 < 4; ridx13++) {
    VF_STORE_LOCAL_8(l0 + v0, v3);
    VF_STORE_LOCAL_8(l0 + (320 + v0), v4);
    VF_STORE_LOCAL_8(l1 + lane*16, v5);
    int v6 = ridx13 + 1 < 4 ? ridx13 + 1 : ridx13;
    if (VF_ALIGNED_8(p2)) {
      v3 = VF_LOAD_ALIGNED_8(p2 + (v6*32 + v1));
      v4 = VF_LOAD_ALIGNED_8(p2 + (v6*32 + 1024 + v1));
    }
    else {
      v3 = VF_LOAD_UNALIGNED_8(p2 + (v6*32 + v1));
      v4 = VF_LOAD_UNALIGNED_8(p2 + (v6*32 + 1024 + v1));
    }
    if (VF_ALIGNED_8(p1)) {
      v5 = VF_LOAD_ALIGNED_8(p1 + (v6*256 + lane*8));
    }
    else {
      v5 = VF_LOAD_UNALIGNED_8(p1 + (v6*256 + lane*8));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float v7_0 = 0.0f;
    float v7_2 = 0.0f;
    float v7_1 = 0.0f;
    float v7_3 = 0.0f;
    int v8 = 2*(lane & 3);
    int v9 = VF_MATRIX_OFFSET_2(16) - 2*(lane & 3);
    uint v10, v11;
    VF_MATRIX_LOAD(v10, v11, l0 + 40*(lane >> 2) + v8);
    uint v12, v13;
    VF_MATRIX_LOAD(v12, v13, l0 + (16 + 40*(lane >> 2)) + v8);
    uint v14, v15;
    VF_MATRIX_LOAD(v14, v15, l0 + (320 + 40*(lane >> 2)) + v8);
    uint v16, v17;
    VF_MATRIX_LOAD(v16, v17, l0 + (336 + 40*(lane >> 2)) + v8);
    uint v18, v19;
    VF_MATRIX_LOAD_TRANSPOSED_2(v18, v19, l1 + (2*lane + -8*(lane >> 2)) + v9, 16);
    uint v20, v21;
    VF_MATRIX_LOAD_TRANSPOSED_2(v20, v21, l1 + (256 + 2*lane + -8*(lane >> 2)) + v9, 16);
    VF_MATRIX(f16, v7_0, v7_2, v7_1, v7_3, v10, v14, v11, v15, v18, v19);
    VF_MATRIX(f16, v7_0, v7_2, v7_1, v7_3, v12, v16, v13, v17, v20, v21);
    float v22_0 = v2_0 + v7_0;
    float v22_2 = v2_2 + v7_2;
    float v22_1 = v2_1 + v7_1;
    float v22_3 = v2_3 + v7_3;
    v2_0 = v22_0;
    v2_2 = v22_2;
    v2_1 = v22_1;
    v2_3 = v22_3;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float v23_0 = vf_round_f16_float(v2_0);
  float v23_2 = vf_round_f16_float(v2_2);
  float v23_1 = vf_round_f16_float(v2_1);
  float v23_3 = vf_round_f16_float(v2_3);
  for (int ridx5 = begin; ridx5 < end; ridx5++) {
    VF_STORE_GLOBAL_2(p0 + lane*2, as_uint((ushort2)(vf_to_f16_float(v23_0), vf_to_f16_float(v23_2))));
    VF_STORE_GLOBAL_2(p0 + (64 + lane*2), as_uint((ushort2)(vf_to_f16_float(v23_1), vf_to_f16_float(v23_3))));
  }
}

== tiles are as large as the amount of work allows
$ for s in '4096 4096 4096' '1024 1024 1024' '256 256 64' '100 128 40' '33 500 11'; do sh many.sh $s bf16 'lanes=256 matrix=16'; done
64 of 256
8 of 256
8 of 256
8 of 128
2 of 64

== half as wide where registers hold more than sums, or the last K block is not whole; terms contiguous along both operands
$ for op in 'add %p, %c' 'max %p, 0.0'; do printf 'graph @m(%%a: bf16[4096,512], %%b: bf16[512,4096], %%c: bf16[4096,4096]) {\n  %%p = matmul %%a, %%b\n  %%y = %s\n  return %%y\n}\n' "$op" >m.vf
> viewfold dump --stage=opencl --target 'together=32 fma=1 local=32768 lanes=256 matrix=16' m.vf | grep -c '^ .*VF_MATRIX(bf16'; done
> sh many.sh 4096 500 4096 bf16 'lanes=256 matrix=16'
> printf 'graph @m(%%a: f16[512,512], %%b: f16[512,512]) {\n  %%t = permute %%b order=[1,0]\n  %%y = matmul %%a, %%t\n  return %%y\n}\n' >m.vf
> viewfold dump --stage=opencl --target 'together=32 fma=1 local=32768 lanes=256 matrix=16' m.vf | grep -c '^ .*VF_MATRIX(f16'
32
64
32 of 256
8

== not used for few rows, columns or terms, other dtypes, too few work-items, or targets without the instructions
$ sh many.sh 15 128 64 bf16 'lanes=256 matrix=16' && sh many.sh 64 128 7 bf16 'lanes=256 matrix=16'
> sh many.sh 64 127 64 bf16 'lanes=256 matrix=16' && sh many.sh 64 128 64 f32 'lanes=256 matrix=16'
> sh many.sh 64 128 64 bf16 'lanes=16 matrix=16' && sh many.sh 64 128 64 bf16 'lanes=256 matrix=0'
0 of 256
0 of 32
0 of 256
0 of 256
0 of 16
0 of 256

== the instruction where there is PTX, else its emulation
$ for f in +ptx ''; do viewfold dump --stage=opencl --target "lanes=32 local=32768 together=32 matrix=16 fma=1 features=$f" f16.vf |
> grep -c '#define VF_PTX'; done; true
1
0
@needs clang-19 -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -fsyntax-only /dev/null
$ viewfold dump --stage=opencl --target 'lanes=32 local=32768 together=32 matrix=16 fma=1' f16.vf >f16.cl
> clang-19 -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -fsyntax-only -Wno-unused-function -Werror f16.cl
