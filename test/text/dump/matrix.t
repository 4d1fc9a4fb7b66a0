# Products of f16 and bf16 for targets whose work-items add up terms by matrix instructions (docs/opencl.md).
<<< f16.vf
graph @m(%a: f16[16,128], %b: f16[128,8]) {
  %y = matmul %a, %b
  return %y
}
>>>
<<< many.sh
# many.sh ROWS TERMS COLUMNS DTYPE TARGET: how many matrix instructions a work-item has, in groups of how many
printf 'graph @m(%%a: %s[%s,%s], %%b: %s[%s,%s]) {\n  %%y = matmul %%a, %%b\n  return %%y\n}\n' $4 $1 $2 $4 $2 $3 >m.vf
viewfold dump --stage=opencl --target "together=32 fma=1 local=32768 $5" m.vf | sed -n '/^kernel/,$p' >m.cl
echo "$(grep -c 'VF_MATRIX(' m.cl) of $(sed -n 's/.*reqd_work_group_size(\([0-9]*\).*/\1/p' m.cl)"
>>>

== as loops: slabs of 32 terms, side by side in locals; the sum of each begins with zero
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
        %4 = (ridx11*80) : index
        %5 = ((ridx11//4)*-320) : index
        for ridx12 in 0..2 unroll {
          %6 = (ridx12*40) : index
          %7 = for ridx13 in 0..4 with %8 = f32(0.0) {
            local l0: f16[640] over ridx13
            %9 = (ridx13*32) : index
            for ridx17 in 0..16 {
              %10 = (ridx17*40) : index
              %11 = (ridx17*128) : index
              for ridx19 in 0..32 vector {
                %12 = load p2[(%9+%11+ridx19)] : f16
                store l0[(%10+ridx19)] = %12
              }
            }
            local l1: f16[320] over ridx13
            %13 = (ridx13*256) : index
            for ridx24 in 0..8 unroll {
              %14 = (ridx24*4) : index
              %15 = (ridx24*32) : index
              for ridx25 in 0..32 vector {
                %16 = load p1[(%13+%15+ridx25)] : f16
                store l1[(%14+(ridx25*40)+((ridx25//8)*-319))] = %16
              }
            }
            %17 = for ridx14 in 0..32 with %18 = f32(0.0) {
              %19 = load l0[(%1+ridx14+%3)] : f16
              %20 = cast %19 dtype=f32 : f32
              %21 = load l1[(%4+%6+ridx14+%5)] : f16
              %22 = cast %21 dtype=f32 : f32
              %23 = fma %20, %22, %18 : f32
              next %23
            }
            %24 = add %8, %17 : f32
            next %24
          }
          %25 = cast %7 dtype=f16 : f16
          store p0[(%0+%2+ridx12)] = %25
        }
      }
    }
  }
}

== a work-item's registers, of two rows and of one column
$ viewfold dump --stage=opencl --target 'lanes=32 local=32768 together=32 matrix=16 fma=1 vector_bytes=16 registers=32' f16.vf | sed -n '/^kernel/,$p' | sed 's/_[0-9a-f]*(global/(global/'
kernel __attribute__((reqd_work_group_size(32, 1, 1))) void vf_cast_fma_add_f16(global ushort *restrict b0, long o0, global const ushort *restrict b1, long o1, global const ushort *restrict b2, long o2, global int *status, long count, long grain) {
  local ushort l0[640] __attribute__((aligned(16)));
  local ushort l1[320] __attribute__((aligned(16)));
  VF_MATRIX_ROOM(192)
  global ushort *p0 = b0 + o0;
  global const ushort *p1 = b1 + o1;
  global const ushort *p2 = b2 + o2;
  int lane = get_local_id(0);
  long begin = get_group_id(0) * grain, end = min(begin + grain, count);
  float v0_0 = 0.0f;
  float v0_2 = 0.0f;
  float v0_1 = 0.0f;
  float v0_3 = 0.0f;
  for (int ridx13 = 0; ridx13 < 4; ridx13++) {
    int v1 = ridx13*32;
    for (int ridx17 = 0; ridx17 < 16; ridx17++) {
      float v2 = vf_from_f16_ushort(p2[v1 + ridx17*128 + lane]);
      l0[ridx17*40 + lane] = vf_to_f16_float(v2);
    }
    float v3_0 = vf_from_f16_ushort(p1[ridx13*256 + lane]);
    float v3_1 = vf_from_f16_ushort(p1[ridx13*256 + 32 + lane]);
    float v3_2 = vf_from_f16_ushort(p1[ridx13*256 + 64 + lane]);
    float v3_3 = vf_from_f16_ushort(p1[ridx13*256 + 96 + lane]);
    float v3_4 = vf_from_f16_ushort(p1[ridx13*256 + 128 + lane]);
    float v3_5 = vf_from_f16_ushort(p1[ridx13*256 + 160 + lane]);
    float v3_6 = vf_from_f16_ushort(p1[ridx13*256 + 192 + lane]);
    float v3_7 = vf_from_f16_ushort(p1[ridx13*256 + 224 + lane]);
    l1[40*lane + -319*(lane >> 3)] = vf_to_f16_float(v3_0);
    l1[4 + 40*lane + -319*(lane >> 3)] = vf_to_f16_float(v3_1);
    l1[8 + 40*lane + -319*(lane >> 3)] = vf_to_f16_float(v3_2);
    l1[12 + 40*lane + -319*(lane >> 3)] = vf_to_f16_float(v3_3);
    l1[16 + 40*lane + -319*(lane >> 3)] = vf_to_f16_float(v3_4);
    l1[20 + 40*lane + -319*(lane >> 3)] = vf_to_f16_float(v3_5);
    l1[24 + 40*lane + -319*(lane >> 3)] = vf_to_f16_float(v3_6);
    l1[28 + 40*lane + -319*(lane >> 3)] = vf_to_f16_float(v3_7);
    barrier(CLK_LOCAL_MEM_FENCE);
    float v4_0 = 0.0f;
    float v4_2 = 0.0f;
    float v4_1 = 0.0f;
    float v4_3 = 0.0f;
    int v5 = 2*(lane & 3);
    int v6 = v5 + 80*((lane >> 3 & 3) - (lane & 3)) + 40*(lane >> 2 & 1);
    uint v7 = as_uint(*(local ushort2 *)(l0 + 40*(lane >> 2) + v5));
    uint v8 = as_uint(*(local ushort2 *)(l0 + 40*(lane >> 2) + v5 + 8));
    uint v9 = as_uint(*(local ushort2 *)(l0 + (16 + 40*(lane >> 2)) + v5));
    uint v10 = as_uint(*(local ushort2 *)(l0 + (16 + 40*(lane >> 2)) + v5 + 8));
    uint v11 = as_uint(*(local ushort2 *)(l0 + (320 + 40*(lane >> 2)) + v5));
    uint v12 = as_uint(*(local ushort2 *)(l0 + (320 + 40*(lane >> 2)) + v5 + 8));
    uint v13 = as_uint(*(local ushort2 *)(l0 + (336 + 40*(lane >> 2)) + v5));
    uint v14 = as_uint(*(local ushort2 *)(l0 + (336 + 40*(lane >> 2)) + v5 + 8));
    uint v15 = as_uint(*(local ushort2 *)(l1 + (80*lane + -320*(lane >> 2)) + v6));
    uint v16 = as_uint(*(local ushort2 *)(l1 + (80*lane + -320*(lane >> 2)) + v6 + 8));
    uint v17 = as_uint(*(local ushort2 *)(l1 + (16 + 80*lane + -320*(lane >> 2)) + v6));
    uint v18 = as_uint(*(local ushort2 *)(l1 + (16 + 80*lane + -320*(lane >> 2)) + v6 + 8));
    VF_MATRIX(f16, v4_0, v4_2, v4_1, v4_3, v7, v11, v8, v12, v15, v16);
    VF_MATRIX(f16, v4_0, v4_2, v4_1, v4_3, v9, v13, v10, v14, v17, v18);
    float v19_0 = v0_0 + v4_0;
    float v19_2 = v0_2 + v4_2;
    float v19_1 = v0_1 + v4_1;
    float v19_3 = v0_3 + v4_3;
    v0_0 = v19_0;
    v0_2 = v19_2;
    v0_1 = v19_1;
    v0_3 = v19_3;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float v20_0 = vf_round_f16_float(v0_0);
  float v20_2 = vf_round_f16_float(v0_2);
  float v20_1 = vf_round_f16_float(v0_1);
  float v20_3 = vf_round_f16_float(v0_3);
  for (int ridx5 = begin; ridx5 < end; ridx5++) {
    p0[lane*2] = vf_to_f16_float(v20_0);
    p0[1 + lane*2] = vf_to_f16_float(v20_2);
    p0[64 + lane*2] = vf_to_f16_float(v20_1);
    p0[65 + lane*2] = vf_to_f16_float(v20_3);
  }
}

== tiles as large as there is work for
$ for s in '4096 4096 4096' '1024 1024 1024' '256 256 64' '100 128 40' '33 500 11'; do sh many.sh $s bf16 'lanes=256 matrix=16'; done
32 of 256
8 of 256
8 of 256
8 of 128
2 of 64

== not by these: few rows, columns or terms, other dtypes, work-items that are too few, targets that have none
$ sh many.sh 15 128 64 bf16 'lanes=256 matrix=16' && sh many.sh 64 128 7 bf16 'lanes=256 matrix=16'
> sh many.sh 64 127 64 bf16 'lanes=256 matrix=16' && sh many.sh 64 128 64 f32 'lanes=256 matrix=16'
> sh many.sh 64 128 64 bf16 'lanes=16 matrix=16' && sh many.sh 64 128 64 bf16 'lanes=256 matrix=0'
0 of 256
0 of 32
0 of 256
0 of 256
0 of 16
0 of 256

== the instruction where there is PTX, else what does the same
$ for f in +ptx ''; do viewfold dump --stage=opencl --target "lanes=32 local=32768 together=32 matrix=16 fma=1 features=$f" f16.vf |
> grep -c '#define VF_PTX'; done; true
1
0
@needs clang-19 -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -fsyntax-only /dev/null
$ viewfold dump --stage=opencl --target 'lanes=32 local=32768 together=32 matrix=16 fma=1' f16.vf >f16.cl
> clang-19 -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -fsyntax-only -Wno-unused-function -Werror f16.cl
