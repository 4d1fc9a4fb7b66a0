# Rows that are read a second time are prefetched some rows ahead.
<<< rows.vf
graph @rows(%x: f32[64,1024]) {
  %y = softmax %x axis=-1
  return %y
}
>>>

<<< make.vf
graph @make() {
  %i = iota shape=[64,1024] axis=0 dtype=f32
  %j = iota shape=[64,1024] axis=1 dtype=f32
  %p = mul %i, %j
  %x = sin %p
  return %x
}
>>>

<<< sweep.vf
graph @sweep(%x: f32[8388608], %b: f32[1]) {
  %s = add %x, %b
  %y = exp %s
  return %y
}
>>>
@text g.vf: viewfold dump --stage=graph g.vf

== the second read of a row prefetches two rows of 4 KiB ahead, in each of four unrolled vectors
$ viewfold dump --stage=loops rows.vf > loops
$ grep -o 'load p1.* ahead.*' loops
load p1[[..]] ahead 2048 : f32
$ grep -v '^#' loops > kernel.vf
$ viewfold dump --stage=graph kernel.vf | cmp - kernel.vf
$ viewfold dump --stage=asm --target 'registers=32' rows.vf | grep -c prefetch
4
$ viewfold run make.vf --out x=x.npy > made
$ viewfold run --check rows.vf --in x=x.npy | grep check
check y: [..], allowed [..]

== a long unrolled elementwise chain that reads memory once, in order, prefetches 2 KiB ahead
$ viewfold dump --stage=loops --target 'registers=32' sweep.vf | grep -o 'load p[12].*'
load p1[0] : f32
load p2[[..]] ahead 512 : f32
$ viewfold dump --stage=loops --target 'registers=32 vector_bytes=32' sweep.vf | grep -o 'for .* unroll'
for ridx7 in 0..4 unroll
$ viewfold dump --stage=loops --target 'registers=16 vector_bytes=32' sweep.vf | grep -o 'for .* unroll'
for ridx7 in 0..2 unroll

== what interleaved chains leave on the stack is aligned to vectors
<<< log.vf
graph @log(%x: f32[4096]) {
  %y = log %x
  return %y
}
>>>
$ viewfold dump --stage=asm --target 'features=+avx2,+fma registers=16 vector_bytes=32' log.vf | grep -c 'andq.*[$]-32, %rsp'
1

== row sums of a large parameter prefetch their operand 2 KiB ahead, non-temporally, where that was measured to be faster
<<< sums.vf
graph @sums(%x: f32[64,4096], %y: f32[64,4096]) {
  %r = sum %x axes=[1]
  %c = sum %y axes=[0]
  return %r, %c
}
>>>
$ viewfold dump --stage=loops --target 'registers=32 l3=65536 read_past=1' sums.vf > loops
$ grep -o 'load p.* ahead.*' loops
load p1[[..]] ahead 512 stream : f32
$ grep -v '^#' loops > kernels.vf
$ viewfold dump --stage=graph kernels.vf | cmp - kernels.vf
$ viewfold dump --stage=asm --target 'registers=32 l3=65536 read_past=1' sums.vf | grep -c prefetchnta
4
$ viewfold dump --stage=loops --target 'registers=32 l2=2097152 l3=33554432 read_past=1' sums.vf | grep -c ahead
? 1
0
$ viewfold dump --stage=loops --target 'registers=32 l2=2097152 l3=65536 read_past=0' sums.vf | grep -c ahead
? 1
0

== rows of a large matrix are read two at a time from 64 KiB on, shorter ones singly, and prefetched where that was measured to be faster
<<< rows_of.vf
graph @long(%a: f32[64,16384]) {
  %y = sum %a axes=[1]
  return %y
}
graph @sum(%a: f32[64,4096]) {
  %y = sum %a axes=[1]
  return %y
}
>>>
$ viewfold dump --stage=loops --graph long --target 'l2=524288 read_ahead=1' rows_of.vf | grep -o -e 'split.*' -e 'load.*'
split a0 2; unroll a0.1; thread a0.0
load p1[[..]] ahead 512 : f32
$ viewfold dump --stage=loops --graph sum --target 'l2=524288 read_ahead=1' rows_of.vf | grep -o -e 'nest.*' -e 'load.*'
nest 0: thread a0
load p1[[..]] ahead 512 : f32

== rows times a vector that has no room in the L1 cache beside them are read six at a time, or three where registers are 16, so that it is loaded once for all
<<< rows_by.vf
graph @long(%a: f32[60,8192], %x: f32[8192]) {
  %y = matmul %a, %x
  return %y
}
graph @vector(%a: f32[64,3584], %x: f32[3584]) {
  %y = matmul %a, %x
  return %y
}
>>>
$ viewfold dump --stage=loops --graph long --target 'l1=32768 l2=524288 registers=32' rows_by.vf | grep -o -e 'split.*' -e 'load.*'
split a0 6; unroll a0.1; thread a0.0
load p2[[..]] : f32
load p1[[..]] : f32
$ viewfold dump --stage=loops --graph long --target 'l1=32768 l2=524288 registers=16' rows_by.vf | grep -o 'split.*'
split a0 3; unroll a0.1; thread a0.0
$ viewfold dump --stage=loops --graph vector --target 'l1=32768 l2=524288 registers=32' rows_by.vf | grep -o 'nest.*'
nest 0: split a0 2; thread a0.0

== no non-temporal prefetch where rows are so short that the sums themselves are stored non-temporally
<<< short.vf
graph @short(%x: f32[65536,4]) {
  %r = sum %x axes=[1]
  return %r
}
>>>
$ viewfold dump --stage=loops --target 'registers=32 l3=65536 read_past=1' short.vf | grep -o 'stream.*'
stream

== no non-temporal prefetch where a parameter is read twice, by one kernel or by one sum; an argmax prefetches into all caches
<<< twice.vf
graph @twice(%x: f32[64,4096]) {
  %m = mean %x axes=[1] keepdims=true
  %c = sub %x, %m
  %v = sum %c axes=[1]
  %p = argmax %x axis=1
  return %v, %p
}
>>>
$ viewfold dump --stage=loops --target 'registers=32 l3=65536 read_past=1' twice.vf | grep -c 'stream :'
? 1
0

== a sweep over memory prefetches from six operations on an element on
<<< chains.vf
graph @six(%x: f32[1048576]) {
  %a = mul %x, %x
  %b = add %a, 0.5
  %c = mul %b, %x
  %d = sub %c, %a
  %e = mul %d, %b
  %y = add %e, %c
  return %y
}
graph @two(%x: f32[1048576]) {
  %a = mul %x, %x
  %y = sub %a, %x
  return %y
}
>>>
$ viewfold dump --stage=loops --graph six --target 'vector_bytes=64 registers=32 l2=1048576' chains.vf | grep -c 'ahead 512 :'
1
$ viewfold dump --stage=loops --graph six --target 'vector_bytes=64 registers=32 l2=4194304' chains.vf | grep -c ahead
? 1
0
$ viewfold dump --stage=loops --graph two --target 'vector_bytes=64 registers=32 l2=1048576' chains.vf | grep -c ahead
? 1
0

== the distance of a prefetch is a positive number of elements
kernel @k(p0: f32[4], p1: f32[4]) {
  for ridx0 in 0..4 thread {
    %0 = load p1[ridx0] ahead 0 : f32
    store p0[ridx0] = %0
  }
}
! [..]error: bad load[..]
? 2

== a load without prefetch cannot be non-temporal
kernel @k(p0: f32[4], p1: f32[4]) {
  for ridx0 in 0..4 thread {
    %0 = load p1[ridx0] stream : f32
    store p0[ridx0] = %0
  }
}
! [..]error: [..]
? 2

== a tile prefetches what the epilogue of the next one along the rows reads and stores to, a line in each iteration of sums, and no row of weights that all share
<<< residual.vf
graph @residual(%x: f32[96,64], %w: f32[64,128], %r: f32[96,128], %b: f32[128]) {
  %p = matmul %x, %w
  %a = add %p, %b
  %y = add %a, %r
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' residual.vf > kernels.vf; grep -oE '(load p[12]|store p0).*' kernels.vf | tail -3
load p2[[..]] : f32
load p1[[..]] ahead 768 fetched : f32
store p0[[..]] = %16 ahead 768 fetched
$ sed -n '/^kernel/,$p' kernels.vf > kernel.vf; viewfold dump --stage=graph kernel.vf | cmp - kernel.vf
$ viewfold dump --stage=llvm --target 'vector_bytes=64 registers=32' residual.vf | grep -oE 'i32 [01], i32 3, i32 1[)]|llvm.fma' | uniq | head -3
i32 0, i32 3, i32 1)
i32 1, i32 3, i32 1)
llvm.fma
$ viewfold dump --stage=loops --target 'vector_bytes=32 registers=16' residual.vf | grep -c fetched
0
? 1

== a window of an image that exceeds the L2 cache prefetches what the next four results read, before all loads, which have no branches
<<< pool.vf
graph @pool(%x: f32[1,128,128,64]) {
  %i = permute %x order=[0,3,1,2]
  %p = max_pool %i kernel=[3,3] stride=[2,2] padding=[1,1]
  %y = permute %p order=[0,2,3,1]
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 l2=1048576' pool.vf | grep -c 'load p1.* if .* else f32(-inf) ahead 512'
5
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 l2=8388608' pool.vf | grep -c ahead
0
? 1
$ viewfold dump --stage=llvm --target 'vector_bytes=64 registers=32 l2=1048576' pool.vf | grep -oE 'call void @llvm.prefetch|load <16 x float>' | uniq -c
[..]36 call void @llvm.prefetch
[..]36 load <16 x float>

== a window of channels that exceed the L2 cache prefetches those of the next line of the image, a line of the cache once
<<< window.vf
graph @window(%x: f32[1,64,112,112], %w: f32[64,64,3,3]) {
  %y = conv %x, %w padding=1
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 l2=1048576' window.vf | grep -oE 'ahead 114\b' | uniq -c
[..]3 ahead 114
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 l2=8388608' window.vf | grep -c 'ahead 114\b'
0
? 1
$ viewfold dump --stage=llvm --target 'vector_bytes=64 registers=32 l2=1048576' window.vf | grep -c 'call void @llvm.prefetch'
8

== so does a window whose terms are apart; each term that has registers of its own prefetches before its loads, and once
<<< apart.vf
graph @apart(%x: f32[1,64,57,57], %w: f32[64,64,3,3]) {
  %y = conv %x, %w padding=2 dilation=2
  return %y
}
graph @odd(%x: f32[1,64,57,57], %w: f32[64,64,3,3]) {
  %y = conv %x, %w padding=1
  return %y
}
>>>
$ viewfold dump --graph apart --stage=loops --target 'vector_bytes=64 registers=32 l2=1048576' apart.vf | grep -oE 'ahead 61\b' | uniq -c
[..]3 ahead 61
$ viewfold dump --graph odd --stage=llvm --target 'vector_bytes=64 registers=32 l2=1048576 fma=1' apart.vf | grep -oE 'call void @llvm.prefetch|load float|call .*llvm.fma' | uniq -c
      4 call void @llvm.prefetch
     12 load float
     24 call <16 x float> @llvm.fma
      3 call void @llvm.prefetch
     12 load float
     24 call <16 x float> @llvm.fma
      3 call void @llvm.prefetch
     12 load float
     24 call <16 x float> @llvm.fma
