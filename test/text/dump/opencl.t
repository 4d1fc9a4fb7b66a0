# OpenCL C: kernels for a device of CPU type, with vector types, and kernels whose vector lanes are
# work-items.
<<< flip.vf
graph @flip(%x: f32[24], %c: bool[24]) {
  %f = flip %x axes=[0]
  %n = max %x, 0.0
  %z = where %c, %f, %n
  return %z
}
>>>
<<< rows.vf
graph @rows(%x: i32[64,128]) {
  %y = sum %x axes=[1]
  return %y
}
>>>
<<< moves.vf
graph @moves(%x: f16[300], %i: u8[10], %d: f64[24,40]) {
  %f = flip %x axes=[0]
  %s = stride %f steps=[3]
  %t = add %s, 1.0
  %g = gather %x, %i axis=0
  %p = permute %d order=[1,0]
  %e = softmax %p
  return %t, %g, %e
}
>>>

== vector types
$ viewfold dump --stage=opencl --target 'vector_bytes=64 registers=32 l1=32768 l2=1048576 l3=33554432' flip.vf |
> sed -n '/^kernel/,$p' | sed 's/_[0-9a-f]*(global/(global/'
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void vf_max_where_f32(global float *restrict b0, long o0, global const float *restrict b1, long o1, global const uchar *restrict b2, long o2, global int *status, long count, long grain) {
  global float *p0 = b0 + o0;
  global const float *p1 = b1 + o1;
  global const uchar *p2 = b2 + o2;
  long begin = get_group_id(0) * grain, end = min(begin + grain, count);
  char16 v0 = VF_LOAD(global, uchar, 16, p2) != (uchar)0;
  float16 v1 = VF_LOAD(global, float, 16, p1 + 8).sfedcba9876543210;
  float16 v2 = VF_LOAD(global, float, 16, p1);
  float16 v3 = (v2 <= 0.0f) ? (float16)(0.0f) : v2;
  float16 v4 = convert_int16(v0) ? v1 : v3;
  char8 v5 = VF_LOAD(global, uchar, 8, p2 + 16) != (uchar)0;
  float8 v6 = VF_LOAD(global, float, 8, p1).s76543210;
  float8 v7 = VF_LOAD(global, float, 8, p1 + 16);
  float8 v8 = (v7 <= 0.0f) ? (float8)(0.0f) : v7;
  float8 v9 = convert_int8(v5) ? v6 : v8;
  for (long ridx3 = begin; ridx3 < end; ridx3++) {
    VF_STORE(global, float, 16, v4, p0);
    VF_STORE(global, float, 8, v9, p0 + 16);
  }
}

== work-items
$ viewfold dump --stage=opencl --target 'lanes=32 local=32768' rows.vf | sed -n '/^kernel/,$p' |
> sed 's/_[0-9a-f]*(global/(global/'
kernel __attribute__((reqd_work_group_size(32, 1, 1))) void vf_add_i32(global int *restrict b0, long o0, global const int *restrict b1, long o1, global int *status, long count, long grain) {
  local ulong exchange0[16];
  global int *p0 = b0 + o0;
  global const int *p1 = b1 + o1;
  int lane = get_local_id(0);
  long begin = get_group_id(0) * grain, end = min(begin + grain, count);
  for (int ridx3 = begin; ridx3 < end; ridx3++) {
    int v0_0 = p1[ridx3*128 + lane];
    int v0_1 = p1[ridx3*128 + 32 + lane];
    int v0_2 = p1[ridx3*128 + 64 + lane];
    int v0_3 = p1[ridx3*128 + 96 + lane];
    int v1 = as_int(as_uint(v0_0) + as_uint(v0_2));
    int v2 = as_int(as_uint(v0_1) + as_uint(v0_3));
    int v3 = as_int(as_uint(v1) + as_uint(v2));
    int v4 = as_int((uint)0 + as_uint(v3));
    local int *x5 = (local int *)exchange0;
    x5[lane] = v4;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 16) x5[lane] = as_int(as_uint(x5[lane]) + as_uint(x5[lane + 16]));
    barrier(CLK_LOCAL_MEM_FENCE);
    int v6 = as_int((((as_uint(x5[0]) + as_uint(x5[8])) + (as_uint(x5[4]) + as_uint(x5[12]))) + ((as_uint(x5[2]) + as_uint(x5[10])) + (as_uint(x5[6]) + as_uint(x5[14])))) + (((as_uint(x5[1]) + as_uint(x5[9])) + (as_uint(x5[5]) + as_uint(x5[13]))) + ((as_uint(x5[3]) + as_uint(x5[11])) + (as_uint(x5[7]) + as_uint(x5[15])))));
    int v7 = as_int((uint)0 + as_uint(v6));
    if (lane == 0) p0[ridx3] = v7;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

== in place where each work-item stores to where it loads; not where only some store while the others load as well
$ for n in 8 5; do printf 'graph @p(%%x: f32[%s]) {\n  %%y = add %%x, 1.0\n  return %%y\n}\n' $n >p.vf
>   viewfold dump --stage=opencl --target 'lanes=4 local=4096' p.vf | grep -o 'float \*restrict b0\|float \*b0'; done
float *b0
float *restrict b0

== a compiler accepts all of it, with the prelude
@needs clang-19 -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -fsyntax-only /dev/null
$ for f in flip rows moves; do for t in lanes=0 'lanes=64 local=32768' 'soft_f64=1 soft_division=1'; do
> viewfold dump --stage=opencl --target "$t" $f.vf > $f.cl
> clang-19 -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -fsyntax-only -Wno-unused-function -Werror $f.cl; done; done

== a local that each work-item reads only where it stored itself is private
<<< softmax.vf
graph @softmax(%x: i32[64,64]) {
  %f = cast %x dtype=f32
  %s = sum %f axes=[1] keepdims=true
  %y = div %f, %s
  return %y
}
>>>
$ viewfold dump --stage=opencl --target 'lanes=32 local=32768 vector_bytes=16 registers=32' softmax.vf | sed -n '/^kernel/,$p' | sed 's/_[0-9a-f]*(global/(global/'
kernel __attribute__((reqd_work_group_size(32, 1, 1))) void vf_cast_add_div_f32(global float *restrict b0, long o0, global const int *restrict b1, long o1, global int *status, long count, long grain) {
  float l0[1];
  local ulong exchange0[16];
  global float *p0 = b0 + o0;
  global const int *p1 = b1 + o1;
  int lane = get_local_id(0);
  long begin = get_group_id(0) * grain, end = min(begin + grain, count);
  for (int ridx4 = begin; ridx4 < end; ridx4++) {
    int v0_0 = p1[ridx4*64 + lane];
    int v0_1 = p1[ridx4*64 + 32 + lane];
    float v1_0 = (float)v0_0;
    float v1_1 = (float)v0_1;
    float v2 = v1_0 + v1_1;
    float v3 = 0.0f + v2;
    local float *x4 = (local float *)exchange0;
    x4[lane] = v3;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 16) x4[lane] = x4[lane] + x4[lane + 16];
    barrier(CLK_LOCAL_MEM_FENCE);
    float v5 = (((x4[0] + x4[8]) + (x4[4] + x4[12])) + ((x4[2] + x4[10]) + (x4[6] + x4[14]))) + (((x4[1] + x4[9]) + (x4[5] + x4[13])) + ((x4[3] + x4[11]) + (x4[7] + x4[15])));
    float v6 = 0.0f + v5;
    l0[0] = v6;
    float v7_0 = (float)v0_0;
    float v7_1 = (float)v0_1;
    float v8 = l0[0];
    float v9_0 = v7_0 / v8;
    float v9_1 = v7_1 / v8;
    p0[ridx4*64 + lane] = v9_0;
    p0[ridx4*64 + 32 + lane] = v9_1;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

== a kernel without buffers: the status argument comes first
<<< nothing.vf
graph @nothing(%x: f64[n=1..4,0]) {
  %y = neg %x
  return %y
}
>>>
$ viewfold dump --stage=opencl --target 'lanes=64 local=32768' nothing.vf | sed -n 's/.*copy_none_[0-9a-f]*//p'
(global int *status, long count, long grain) {

== barriers separate two uses of shared memory, whether or not a loop between them has iterations
<<< least.vf
graph @least(%x: f64[m=2..4:2]) {
  %e = exp2 %x
  %i = argmin %e axis=0
  return %i
}
>>>
$ viewfold dump --stage=opencl --target 'lanes=64 local=32768' least.vf | sed -n '/^kernel/,$p' |
> grep -e exchange -e 'barrier(' | sed 's/ *//; s/v[0-9]*;$//; s/x[0-9]* =/=/'
local ulong exchange0[4];
local ulong exchange1[4];
local double *= (local double *)exchange0;
barrier(CLK_LOCAL_MEM_FENCE);
local double *= (local double *)exchange1;
barrier(CLK_LOCAL_MEM_FENCE);
barrier(CLK_LOCAL_MEM_FENCE);
local long *= (local long *)exchange0;
barrier(CLK_LOCAL_MEM_FENCE);

== a limit on kernel arguments: partial sums are stored by earlier kernels
$ { echo 'graph @sum('; for i in $(seq 0 70); do echo "%x$i: f32[5]$([ $i = 70 ] || echo ,)"; done
>   echo ') {'; echo '%s0 = neg %x0'
>   for i in $(seq 1 70); do echo "%s$i = add %s$((i - 1)), %x$i"; done
>   echo 'return %s70'; echo '}'; } >sum.vf
$ for most in 0 1024 512; do
>   viewfold dump --stage=kernels --target "arguments=$most" sum.vf | grep -c ^kernel
>   viewfold dump --stage=opencl --target "lanes=64 local=32768 arguments=$most" sum.vf | grep ^kernel |
>     awk -F, '{ print NF - 2 " arguments of 8 bytes" }'
> done
1
147 arguments of 8 bytes
2
127 arguments of 8 bytes
27 arguments of 8 bytes
3
63 arguments of 8 bytes
63 arguments of 8 bytes
35 arguments of 8 bytes

== a target without doubles and without correctly rounded division emulates both with integers
<<< soft.vf
graph @soft(%x: f32[64], %y: f32[64], %z: f64[64]) {
  %a = div %x, %y
  %b = sqrt %a
  %c = pow %x, %y
  %d = tan %b
  %e = add %c, %d
  %f = mul %z, %e
  return %f
}
>>>
$ for t in 'lanes=64 local=32768' 'vector_bytes=64 registers=32'; do
> viewfold dump --stage=opencl --target "$t soft_f64=1 soft_division=1" soft.vf | sed -n '/^kernel/,$p' >kernel.cl
> grep -c -w -E 'double[0-9]*|sqrt|fabs' kernel.cl; grep -c -E ' / ' kernel.cl
> grep -o -E 'vf_(div|sqrt)_float[0-9]*|vf_(div|mul)_soft[0-9]*|vf_soft[0-9]*_from_float[0-9]*' kernel.cl | sort -u | paste -s -d' '
> viewfold dump --stage=opencl --target "$t" soft.vf | grep -i soft | wc -l; done
0
0
vf_div_float vf_div_soft vf_mul_soft vf_soft_from_float vf_sqrt_float
0
0
0
vf_div_float8 vf_div_soft8 vf_mul_soft8 vf_soft8_from_float8 vf_sqrt_float8
0

== where only f32 division is not correctly rounded, f64 uses the device's division
<<< both.vf
graph @both(%x: f32[64], %y: f64[64]) {
  %a = div %x, 3.0
  %b = sqrt %y
  %c = div %b, %y
  return %a, %c
}
>>>
$ viewfold dump --stage=opencl --target 'lanes=64 local=32768 soft_division=1' both.vf | sed -n '/^kernel/,$p' |
>   grep -o -E '= .*(vf_div|vf_sqrt|sqrt| / ).*' | sed 's/[0-9]*\.[0-9]*f*/C/; s/v[0-9][0-9]*/v/g' | sort
= sqrt(v);
= v / v;
= vf_div_float(v, C);

== a compiler without doubles accepts f32 functions that use doubles on other targets
@needs clang-19 -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -Xclang -cl-ext=-cl_khr_fp64 -fsyntax-only /dev/null
<<< wide.vf
graph @wide(%x: f32[64], %y: f16[64]) {
  %a = sin %x
  %b = pow %x, %a
  %c = gelu_erf %b
  %d = tan %y
  %e = linspace start=0.0 stop=1.0 num=64
  %f = add %c, %d
  %g = mul %e, %f
  return %g
}
>>>
$ for t in 'lanes=64 local=32768' 'vector_bytes=64 registers=32'; do for s in 1 0; do
> viewfold dump --stage=opencl --target "$t soft_f64=$s" wide.vf > wide.cl
> clang-19 -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -Xclang -cl-ext=-cl_khr_fp64,-__opencl_c_fp64 \
>   -fsyntax-only -Wno-unused-function -Werror wide.cl 2>/dev/null; echo $?; done; done
0
1
0
1

== an index of which only the condition has lanes is read by vectors, too
<<< nested.vf
graph @nested(%x: u8[15], %i: i64[9]) {
  %k = iota shape=[3] axis=0 dtype=i64
  %m = mul %k, %k
  %q = add %m, 4
  %g = gather %x, %q axis=0
  %s = shrink %g bounds=[[0,2]]
  %u = unsqueeze %s axis=0
  %p = pad %u pads=[[0,1],[0,0]]
  %t = gather %p, %i axis=0
  %w = shrink %t bounds=[[1,9],[1,2]]
  %y = max %w axes=[0]
  return %y
}
>>>
$ viewfold dump --stage=opencl --target "vector_bytes=64 registers=32" nested.vf | grep -E 'int8 .*max|GATHER_IF,'
  int8 v5 = convert_int8(max(min(v4, (long8)(1L)), (long8)(0L)));
  int8 v8 = (int8)((int)max(min(v7, 14L), 0L));
  VF_EACH_8(VF_GATHER_IF, v9, p2, v8, v6);

== where PTX is understood, the compiler does not see that a lane or a truncated number is the half of another one
<<< lanes.vf
graph @lanes(%x: i16[3,31], %i: i64[1]) {
  %p = address %x
  %c = point %p index=8 axis=1
  %v = gather %x, %i axis=1
  %w = reshape %v shape=[3]
  %n = neg %w
  %y = assign %x, %c, %n op=add
  return %y
}
>>>
$ viewfold dump --stage=opencl --target 'lanes=256 local=32768 together=32 features=+ptx' lanes.vf | sed -n '/^kernel/,$p' | grep -o 'vf_l[a-z]*([a-z]*' | sort | uniq -c | sed 's/^ *//'
2 vf_lane(
2 vf_low(begin
1 vf_low(max
