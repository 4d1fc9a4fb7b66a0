# Fused row groups: kernels over the same rows, fused into one loop over rows, which pass values in locals.

<<< softmax.vf
graph @softmax(%x: f32[64,1024]) {
  %m = max %x axes=[1] keepdims=true
  %d = sub %x, %m
  %e = exp %d
  %s = sum %e axes=[1] keepdims=true
  %y = div %e, %s
  return %y
}
>>>
<<< norm.vf
graph @norm(%x: f32[40,300]) {
  %m = mean %x axes=[1] keepdims=true
  %d = sub %x, %m
  %q = mul %d, %d
  %v = mean %q axes=[1] keepdims=true
  return %v, %m
}
>>>
<<< causal.vf
graph @causal(%q: f32[2,256,32], %k: f32[2,256,32], %v: f32[2,256,32]) {
  %y = attention %q, %k, %v causal=true
  return %y
}
>>>
<<< products.vf
graph @ffn(%h: f32[4,64,32], %w: f32[256,32], %b: f32[256], %v: f32[32,256]) {
  %wt = permute %w order=[1,0]
  %p = matmul %h, %wt
  %q = add %p, %b
  %u = relu %q
  %vt = permute %v order=[1,0]
  %d = matmul %u, %vt
  %r = add %h, %d
  return %r
}
graph @many(%h: f32[64,64,32], %w: f32[256,32], %v: f32[32,256]) {
  %wt = permute %w order=[1,0]
  %u = matmul %h, %wt
  %vt = permute %v order=[1,0]
  %d = matmul %u, %vt
  return %d
}
>>>
<<< apart.vf
graph @columns(%x: f32[40,300]) {
  %m = max %x axes=[1] keepdims=true
  %d = sub %x, %m
  %y = sum %d axes=[0]
  return %y, %m
}
graph @large(%x: f32[8,200000]) {
  %m = max %x axes=[1] keepdims=true
  %d = sub %x, %m
  return %d, %m
}
graph @products(%x: f32[128,784], %a: f32[784,512], %b: f32[512,256]) {
  %h = matmul %x, %a
  %r = relu %h
  %y = matmul %r, %b
  return %y, %h
}
>>>

== softmax: the exponentials of a row are computed once, stored in a local and read from there
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' softmax.vf | grep -e ' local' -e ' store' -e 'load l' -e ' thread'
\# kernel 0 nest 0: thread a0
  for [..] in 0..64 thread {
    local l0: f32[1] over [..]
    store l0[..] = [..]
    local l1: f32[1024] over [..]
    %[..] = load l0[..] : f32
          store l1[..] = [..]
    local l2: f32[1] over [..]
          %[..] = load l1[..] : f32
    store l2[..] = [..]
    %[..] = load l2[..] : f32
        %[..] = load l1[..] : f32
        store p0[..] = [..]

== explain says why kernels are fused, and that an intermediate result is in a local and in memory
$ viewfold explain --no-run softmax.vf | grep -e ^graph -e ^kernel -e "^  group"
graph @softmax: 1 kernel, 0 temporaries
kernel 0 -> %y f32[64,1024]
  group   in one loop, [..] since the [..] bytes that they pass on stay in a cache: max in a local, exp in a local, sum in a local, div
$ viewfold explain --no-run norm.vf | grep -e ^graph -e ^kernel -e "^  group"
graph @norm: 1 kernel, 0 temporaries
kernel 0 -> %m f32[40,1], %v f32[40,1]
  group   in one loop, 2 rows an iteration, since the 8 bytes that they pass on stay in a cache: div in a local and in memory, div

== explain says why kernels are not fused
$ viewfold explain --no-run apart.vf | grep -e '^graph' -e apart
graph @columns: 2 kernels, 0 temporaries
  apart   it reads what an earlier kernel computes, but not at the indices at which that is computed
graph @large: 3 kernels, 1 temporary
  apart   the rows that it would share with the kernel that it reads from fit in no cache, or are too few
  apart   the rows that it would share with the kernel that it reads from fit in no cache, or are too few
graph @products: 5 kernels, 3 temporaries
  apart   it is a contraction that reuses what it reads for more rows than fit in a cache
  apart   it is a contraction that reuses what it reads for more rows than fit in a cache

== loops over the keys of causal attention end at the last key that a row of the iteration attends to; masked weights within are 0
$ viewfold explain --no-run causal.vf | grep -c "^  group"
1
$ viewfold dump --print-after=fold causal.vf | grep -e 'range.*0..(.*ridx0'
  range ridx[..] in 0..[..]ridx0[..]
  range ridx[..] in 0..[..]ridx0[..]
  range ridx[..] in 0..[..]ridx0[..]
  range ridx[..] in 0..[..]ridx0[..]
  range ridx[..] in 0..[..]ridx0[..]
  range ridx[..] in 0..[..]ridx0[..]

== in locals the rows of products are contiguous (transposed), and weights are read in their own layout
$ viewfold dump --stage=index --graph ffn products.vf
index @ffn_0(p1: f32[8192], p3: f32[8192], p2: f32[256], p4: f32[8192], p0: f32[8192]) {
  range ridx0 in 0..4
  local l0: f32[2048] over ridx0
  range ridx1 in 0..64
  range ridx2 in 0..32
  %0 = load p1[((ridx0*2048)+(ridx1*32)+ridx2)] : f32
  store l0[(ridx1+(ridx2*64))] = %0
  local l1: f32[16384] over ridx0
  range ridx3 in 0..64
  range ridx4 in 0..256
  range ridx5 in 0..32
  %1 = load l0[(ridx3+(ridx5*64))] : f32
  %2 = load p3[((ridx4*32)+ridx5)] : f32
  %3 = fma %1, %2, f32(0.0) : f32
  %4 = reduce add %3 over ridx5 : f32
  %5 = load p2[ridx4] : f32
  %6 = add %4, %5 : f32
  %7 = relu %6 : f32
  store l1[(ridx3+(ridx4*64))] = %7
  local l2: f32[2048] over ridx0
  range ridx6 in 0..64
  range ridx7 in 0..32
  range ridx8 in 0..256
  %8 = load l1[(ridx6+(ridx8*64))] : f32
  %9 = load p4[((ridx7*256)+ridx8)] : f32
  %10 = fma %8, %9, f32(0.0) : f32
  %11 = reduce add %10 over ridx8 : f32
  store l2[(ridx6+(ridx7*64))] = %11
  range ridx9 in 0..64
  range ridx10 in 0..32
  %12 = load l0[(ridx9+(ridx10*64))] : f32
  %13 = load l2[(ridx9+(ridx10*64))] : f32
  %14 = add %12, %13 : f32
  store p0[((ridx0*2048)+(ridx9*32)+ridx10)] = %14
}

== with many more rows than columns the weights are copied instead
$ viewfold dump --stage=kernels --target 'vector_bytes=64 registers=32' --graph many products.vf | grep -e '^kernel'
kernel 0 -> temporary 0 of %u f32[1,1,4,32,64]
kernel 1 -> temporary 1 of %d f32[1,1,1,256,32]
kernel 2 -> %d f32[64,64,32]
