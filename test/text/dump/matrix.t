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
            for ridx15 in 0..8 unroll {
              %10 = (ridx15*80) : index
              %11 = (ridx15*256) : index
              for ridx16 in 0..32 vector {
                %12 = (ridx16*2) : index
                %13 = ((ridx16//16)*8) : index
                %14 = ((ridx16//16)*96) : index
                for ridx17 in 0..2 unroll {
                  %15 = load p2[(%9+%11+%12+ridx17+%14)] : f16
                  store l0[(%10+%12+ridx17+%13)] = %15
                }
              }
            }
            local l1: f16[320] over ridx13
            %16 = (ridx13*256) : index
            for ridx22 in 0..8 unroll {
              %17 = (ridx22*4) : index
              %18 = (ridx22*32) : index
              for ridx23 in 0..32 vector {
                %19 = load p1[(%16+%18+ridx23)] : f16
                store l1[(%17+(ridx23*40)+((ridx23//8)*-319))] = %19
              }
            }
            %20 = for ridx14 in 0..32 with %21 = f32(0.0) {
              %22 = load l0[(%1+ridx14+%3)] : f16
              %23 = cast %22 dtype=f32 : f32
              %24 = load l1[(%4+%6+ridx14+%5)] : f16
              %25 = cast %24 dtype=f32 : f32
              %26 = fma %23, %25, %21 : f32
              next %26
            }
            %27 = add %8, %20 : f32
            next %27
          }
          %28 = cast %7 dtype=f16 : f16
          store p0[(%0+%2+ridx12)] = %28
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
    uint v1;
    uint v2;
    uint v3;
    uint v4;
    uint v5;
    uint v6;
    uint v7;
    uint v8;
    if (VF_IN_WORDS(p2)) {
      v1 = VF_WORD(p2 + (ridx13*32 + 2*lane + 96*(lane >> 4)));
      v2 = VF_WORD(p2 + (ridx13*32 + 256 + 2*lane + 96*(lane >> 4)));
      v3 = VF_WORD(p2 + (ridx13*32 + 512 + 2*lane + 96*(lane >> 4)));
      v4 = VF_WORD(p2 + (ridx13*32 + 768 + 2*lane + 96*(lane >> 4)));
      v5 = VF_WORD(p2 + (ridx13*32 + 1024 + 2*lane + 96*(lane >> 4)));
      v6 = VF_WORD(p2 + (ridx13*32 + 1280 + 2*lane + 96*(lane >> 4)));
      v7 = VF_WORD(p2 + (ridx13*32 + 1536 + 2*lane + 96*(lane >> 4)));
      v8 = VF_WORD(p2 + (ridx13*32 + 1792 + 2*lane + 96*(lane >> 4)));
    }
    else {
      v1 = VF_TWO(p2 + (ridx13*32 + 2*lane + 96*(lane >> 4)));
      v2 = VF_TWO(p2 + (ridx13*32 + 256 + 2*lane + 96*(lane >> 4)));
      v3 = VF_TWO(p2 + (ridx13*32 + 512 + 2*lane + 96*(lane >> 4)));
      v4 = VF_TWO(p2 + (ridx13*32 + 768 + 2*lane + 96*(lane >> 4)));
      v5 = VF_TWO(p2 + (ridx13*32 + 1024 + 2*lane + 96*(lane >> 4)));
      v6 = VF_TWO(p2 + (ridx13*32 + 1280 + 2*lane + 96*(lane >> 4)));
      v7 = VF_TWO(p2 + (ridx13*32 + 1536 + 2*lane + 96*(lane >> 4)));
      v8 = VF_TWO(p2 + (ridx13*32 + 1792 + 2*lane + 96*(lane >> 4)));
    }
    *(local ushort2 *)(l0 + (2*lane + 8*(lane >> 4))) = (ushort2)(as_ushort2(v1).s0, as_ushort2(v1).s1);
    *(local ushort2 *)(l0 + (80 + 2*lane + 8*(lane >> 4))) = (ushort2)(as_ushort2(v2).s0, as_ushort2(v2).s1);
    *(local ushort2 *)(l0 + (160 + 2*lane + 8*(lane >> 4))) = (ushort2)(as_ushort2(v3).s0, as_ushort2(v3).s1);
    *(local ushort2 *)(l0 + (240 + 2*lane + 8*(lane >> 4))) = (ushort2)(as_ushort2(v4).s0, as_ushort2(v4).s1);
    *(local ushort2 *)(l0 + (320 + 2*lane + 8*(lane >> 4))) = (ushort2)(as_ushort2(v5).s0, as_ushort2(v5).s1);
    *(local ushort2 *)(l0 + (400 + 2*lane + 8*(lane >> 4))) = (ushort2)(as_ushort2(v6).s0, as_ushort2(v6).s1);
    *(local ushort2 *)(l0 + (480 + 2*lane + 8*(lane >> 4))) = (ushort2)(as_ushort2(v7).s0, as_ushort2(v7).s1);
    *(local ushort2 *)(l0 + (560 + 2*lane + 8*(lane >> 4))) = (ushort2)(as_ushort2(v8).s0, as_ushort2(v8).s1);
    float v9_0 = vf_from_f16_ushort(p1[ridx13*256 + lane]);
    float v9_1 = vf_from_f16_ushort(p1[ridx13*256 + 32 + lane]);
    float v9_2 = vf_from_f16_ushort(p1[ridx13*256 + 64 + lane]);
    float v9_3 = vf_from_f16_ushort(p1[ridx13*256 + 96 + lane]);
    float v9_4 = vf_from_f16_ushort(p1[ridx13*256 + 128 + lane]);
    float v9_5 = vf_from_f16_ushort(p1[ridx13*256 + 160 + lane]);
    float v9_6 = vf_from_f16_ushort(p1[ridx13*256 + 192 + lane]);
    float v9_7 = vf_from_f16_ushort(p1[ridx13*256 + 224 + lane]);
    l1[40*lane + -319*(lane >> 3)] = vf_to_f16_float(v9_0);
    l1[4 + 40*lane + -319*(lane >> 3)] = vf_to_f16_float(v9_1);
    l1[8 + 40*lane + -319*(lane >> 3)] = vf_to_f16_float(v9_2);
    l1[12 + 40*lane + -319*(lane >> 3)] = vf_to_f16_float(v9_3);
    l1[16 + 40*lane + -319*(lane >> 3)] = vf_to_f16_float(v9_4);
    l1[20 + 40*lane + -319*(lane >> 3)] = vf_to_f16_float(v9_5);
    l1[24 + 40*lane + -319*(lane >> 3)] = vf_to_f16_float(v9_6);
    l1[28 + 40*lane + -319*(lane >> 3)] = vf_to_f16_float(v9_7);
    barrier(CLK_LOCAL_MEM_FENCE);
    float v10_0 = 0.0f;
    float v10_2 = 0.0f;
    float v10_1 = 0.0f;
    float v10_3 = 0.0f;
    int v11 = 2*(lane & 3);
    int v12 = v11 + 80*((lane >> 3 & 3) - (lane & 3)) + 40*(lane >> 2 & 1);
    uint v13 = as_uint(*(local ushort2 *)(l0 + 40*(lane >> 2) + v11));
    uint v14 = as_uint(*(local ushort2 *)(l0 + 40*(lane >> 2) + v11 + 8));
    uint v15 = as_uint(*(local ushort2 *)(l0 + (16 + 40*(lane >> 2)) + v11));
    uint v16 = as_uint(*(local ushort2 *)(l0 + (16 + 40*(lane >> 2)) + v11 + 8));
    uint v17 = as_uint(*(local ushort2 *)(l0 + (320 + 40*(lane >> 2)) + v11));
    uint v18 = as_uint(*(local ushort2 *)(l0 + (320 + 40*(lane >> 2)) + v11 + 8));
    uint v19 = as_uint(*(local ushort2 *)(l0 + (336 + 40*(lane >> 2)) + v11));
    uint v20 = as_uint(*(local ushort2 *)(l0 + (336 + 40*(lane >> 2)) + v11 + 8));
    uint v21 = as_uint(*(local ushort2 *)(l1 + (80*lane + -320*(lane >> 2)) + v12));
    uint v22 = as_uint(*(local ushort2 *)(l1 + (80*lane + -320*(lane >> 2)) + v12 + 8));
    uint v23 = as_uint(*(local ushort2 *)(l1 + (16 + 80*lane + -320*(lane >> 2)) + v12));
    uint v24 = as_uint(*(local ushort2 *)(l1 + (16 + 80*lane + -320*(lane >> 2)) + v12 + 8));
    VF_MATRIX(f16, v10_0, v10_2, v10_1, v10_3, v13, v17, v14, v18, v21, v22);
    VF_MATRIX(f16, v10_0, v10_2, v10_1, v10_3, v15, v19, v16, v20, v23, v24);
    float v25_0 = v0_0 + v10_0;
    float v25_2 = v0_2 + v10_2;
    float v25_1 = v0_1 + v10_1;
    float v25_3 = v0_3 + v10_3;
    v0_0 = v25_0;
    v0_2 = v25_2;
    v0_1 = v25_1;
    v0_3 = v25_3;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float v26_0 = vf_round_f16_float(v0_0);
  float v26_2 = vf_round_f16_float(v0_2);
  float v26_1 = vf_round_f16_float(v0_1);
  float v26_3 = vf_round_f16_float(v0_3);
  for (int ridx5 = begin; ridx5 < end; ridx5++) {
    p0[lane*2] = vf_to_f16_float(v26_0);
    p0[1 + lane*2] = vf_to_f16_float(v26_2);
    p0[64 + lane*2] = vf_to_f16_float(v26_1);
    p0[65 + lane*2] = vf_to_f16_float(v26_3);
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
