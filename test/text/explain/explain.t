# viewfold explain: the reasons for each kernel, and what its loops still do.

<<< rows.vf
graph @rows(%x: f32[64,128], %y: f32[128,64]) {
  %t = permute %y order=[1,0]
  %p = pad %x pads=[[1,1],[0,0]]
  %a = shrink %p bounds=[[0,64],[0,128]]
  %s = add %a, %t
  %m = sum %s axes=[1] keepdims=true
  %e = expand %m shape=[64,128]
  %h = mul %s, %e
  return %h
}
graph @other(%x: f32[4]) {
  %y = neg %x
  return %y
}
>>>

== kernels, reasons, work, loops
$ viewfold explain --no-run --graph rows --target 'vector_bytes=64' rows.vf
graph @rows: 3 kernels, 2 temporaries
\
kernel 0 -> %t f32[64,128]
  for     %t = permute %y order=[1,0] (line 2)
  fuses   permute stored
  reads   %y f32[128,64], in 1 place
  threads share a loop of [..]
  why     stored, because its readers read elements several times, or because that is asked for
  moves   32768 bytes to read, 32768 to write; 8192 operations as written
[...]
\
kernel 1 -> temporary 1 of %m f32[64]
  for     %p = pad %x pads=[[1,1],[0,0]] (line 3)
          %a = shrink %p bounds=[[0,64],[0,128]] (line 4)
          %s = add %a, %t (line 5)
          %m = sum %s axes=[1] keepdims=true (line 6)
  fuses   pad shrink add sum
  reads   %t f32[64,128], in 1 place
  reads   %x f32[64,128], in 1 place
  threads share a loop of [..]
  why     stored and not fused: sum would be computed again for each index at which it is repeated
[...]
  moves   65024 bytes to read, 256 to write; 16384 operations as written
  loops   [..]16 vector[..]
  divides nowhere
  tests   a load of p2 where [..]
  lanes   16 of f32[..]
[...]
\
kernel 2 -> %h f32[64,128]
[...]
  why     a kernel of its own, because it is a result
  apart   it is split where its masks end, into loops of its own
  moves   65280 bytes to read, 32768 to write; 16384 operations as written
[...]

== every graph of a file
$ viewfold explain --no-run rows.vf | grep graph
graph @rows: 3 kernels, 2 temporaries
graph @other: 1 kernel, 0 temporaries

== a chain
$ viewfold explain --no-run 'f32[3,2].permute(1,0)' | grep -E 'why|moves|divides|tests'
  why     a kernel of its own, because it is a result
  moves   24 bytes to read, 24 to write; 0 operations as written
  divides nowhere
  tests   nothing: no mask is left

== wrong input
$ viewfold explain
! viewfold explain: no file given; for example: viewfold explain blur.vf
! Try 'viewfold explain --help'.
? 2
$ viewfold explain --graph none rows.vf
! [..]
! Try 'viewfold explain --help'.
? 2

== the condition of a loop is a result, too
<<< loop.vf
graph @less(%i: i32[]) {
  %p = lt %i, 5
  return %p
}
graph @next(%i: i32[]) {
  %j = add %i, 1
  return %j
}
graph @loop(%i: i32[]) {
  %j = while_loop %i while=@less do=@next
  return %j
}
>>>
$ viewfold explain --no-run loop.vf | grep -E 'fuses|why'
      fuses   lt
      why     a kernel of its own, because it is a result of its function
      fuses   add
      why     a kernel of its own, because it is a result of its function

== limits: the memory's rate for the bytes moved, or the multiply-add rate, with measured times
<<< scale.vf
graph @scale(%x: f32[n=1..1000000]) {
  %y = mul %x, 2.0
  return %y
}
graph @product(%a: f32[256,256], %b: f32[256,256]) {
  %c = matmul %a, %b
  return %c
}
>>>
$ VIEWFOLD_MACHINE='threads=1 read=10 copy=10 fill=10 gflops=100' viewfold explain --kernel all --graph scale --size n=1000000 --threads 1 scale.vf | tail -n 6
  lanes   [..]
  limit   0.8 ms, by [..]: 8 MB at 10 GB/s
  expects 0.[..] ms, 100 % of the limit, by 1 thread
  took    [..] ms, [..] % of the limit[..]
\
memory: 8 MB of inputs and results, 0 MB of intermediates with 1 thread; in all 1.00 times the inputs and results
$ VIEWFOLD_MACHINE='threads=1 read=1000 copy=1000 fill=1000 gflops=100' viewfold explain --kernel 1 --graph product --threads 1 scale.vf | grep -A 1 'arithmetic: .* million'
  limit   0.33[..] ms, by arithmetic: 33.[..] million operations of its loops at 100 GFLOP/s
  expects 0.3[..] ms, [..] % of the limit, by 1 thread
$ viewfold explain --graph scale scale.vf | tail -n 1
  took    not run: the size n is not known; give it as --size n=VALUE
$ viewfold explain --no-run --graph scale scale.vf | grep -E 'limit|expects|took'
? 1
$ viewfold explain --graph scale --size n=2 --in x=[1,2,3] scale.vf
! viewfold explain: [..]
? 2

== what prevents more vector lanes
<<< blocked.vf
graph @apart(%x: f32[64,10], %i: i32[64]) {
  %y = gather %x, %i axis=0
  %z = stride %y steps=[1,3]
  return %z
}
graph @one(%x: f32[1000]) {
  %y = sum %x axes=[0]
  %z = add %y, 1.0
  return %z
}
graph @narrow(%x: f32[3,100,3]) {
  %y = permute %x order=[0,2,1]
  %z = shrink %y bounds=[[0,3],[0,3],[0,8]]
  return %z
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64' blocked.vf | grep -E '@|lanes|blocked'
graph @apart: 1 kernel, 0 temporaries
  lanes   4 of f32
  blocked lanes fill 16 of the 64 bytes of a vector
  blocked 1 of 1 loads gathers: along the lanes their elements are not contiguous
  blocked one thread, because the work is one thread block
graph @one: 1 kernel, 0 temporaries
  lanes   16 of f32, unroll factor 4
  blocked one thread, because the work is one thread block
graph @narrow: 1 kernel, 0 temporaries
  lanes   8 of f32, unroll factor 3
  blocked lanes fill 32 of the 64 bytes of a vector
  blocked one thread, because the work is one thread block

== memory of one run: an intermediate that fits in no result's buffer, and the locals of each thread
<<< memory.vf
graph @between(%x: f32[1000,250], %i: i32[125]) {
  %e = exp %x
  %y = gather %e, %i axis=0
  return %y
}
graph @softmax(%x: f32[64,1024]) {
  %y = softmax %x axis=-1
  return %y
}
>>>
$ viewfold explain --graph between --threads 2 memory.vf | tail -n 1
memory: 1.125 MB of inputs and results, 1 MB of intermediates with 2 threads; in all 1.89 times the inputs and results
$ viewfold explain --graph softmax --threads 2 memory.vf | tail -n 1
memory: 0.5243 MB of inputs and results, 0.008448 MB of intermediates with 2 threads; in all 1.02 times the inputs and results
$ viewfold explain --no-run memory.vf | grep -c memory
0
? 1

== bytes are those of the elements that the loops access, not of whole parameters
<<< part.vf
graph @rows(%x: f32[4000,1000]) {
  %a = shrink %x bounds=[[100,140],[0,1000]]
  %y = mul %a, 2.0
  return %y
}
graph @columns(%x: f32[4000,1000]) {
  %a = shrink %x bounds=[[0,4000],[96,112]]
  %y = mul %a, 2.0
  return %y
}
graph @apart(%x: f32[4000,1000]) {
  %a = stride %x steps=[40,1]
  %y = mul %a, 2.0
  return %y
}
graph @taken(%x: f32[4000,1024], %i: i32[16]) {
  %y = gather %x, %i axis=0
  return %y
}
graph @often(%x: f32[3,1000], %i: i32[16]) {
  %y = gather %x, %i axis=0
  return %y
}
graph @points(%x: f32[1000,1000], %i: i32[]) {
  %y = gather %x, %i axis=1
  return %y
}
graph @stencil(%x: f32[4000,1000]) {
  %a = shrink %x bounds=[[100,150],[100,200]]
  %b = shrink %x bounds=[[101,151],[100,200]]
  %c = shrink %x bounds=[[100,150],[101,201]]
  %d = shrink %x bounds=[[101,151],[101,201]]
  %e = add %a, %b
  %f = add %c, %d
  %y = add %e, %f
  return %y
}
graph @window(%x: f32[1000]) {
  %a = shrink %x bounds=[[100,200]]
  %b = shrink %x bounds=[[101,201]]
  %y = add %a, %b
  return %y
}
graph @repeated(%x: f32[1000]) {
  %a = expand %x shape=[50,1000]
  %y = mul %a, 2.0
  return %y
}
graph @product(%a: f32[65,67], %b: f32[67,129]) {
  %y = matmul %a, %b
  return %y
}
graph @any(%x: f32[n=1..1000000,8]) {
  %y = mul %x, 2.0
  return %y
}
graph @some(%x: f32[n=2000..1000000,8]) {
  %a = shrink %x bounds=[[0,1000],[0,8]]
  %y = mul %a, 2.0
  return %y
}
>>>
$ viewfold explain --no-run part.vf | grep -E '@|moves'
graph @rows: 1 kernel, 0 temporaries
  moves   160000 bytes to read, 160000 to write; 40000 operations as written
graph @columns: 1 kernel, 0 temporaries
  moves   256000 bytes to read, 256000 to write; 64000 operations as written
graph @apart: 1 kernel, 0 temporaries
  moves   400000 bytes to read, 400000 to write; 100000 operations as written
graph @taken: 1 kernel, 0 temporaries
  moves   65600 bytes to read, 65536 to write; 0 operations as written
graph @often: 1 kernel, 0 temporaries
  moves   12064 bytes to read, 64000 to write; 0 operations as written
graph @points: 1 kernel, 0 temporaries
  moves   4004 bytes to read, 4000 to write; 0 operations as written
graph @stencil: 1 kernel, 0 temporaries
  moves   20604 bytes to read, 20000 to write; 15000 operations as written
graph @window: 1 kernel, 0 temporaries
  moves   404 bytes to read, 400 to write; 100 operations as written
graph @repeated: 1 kernel, 0 temporaries
  moves   4000 bytes to read, 200000 to write; 50000 operations as written
graph @product: 1 kernel, 0 temporaries
  moves   51992 bytes to read, 33540 to write; 1123590 operations as written
graph @any: 1 kernel, 0 temporaries
  moves   (n*32) bytes to read, (n*32) to write; (n*8) operations as written
graph @some: 1 kernel, 0 temporaries
  moves   32000 bytes to read, 32000 to write; 8000 operations as written

== multiply-adds count at the rate of the dtype that they are computed in; skipped blocks do not count
<<< products.vf
graph @wide(%a: f64[256,256], %b: f64[256,256]) {
  %c = matmul %a, %b
  return %c
}
graph @bytes(%a: i8[256,256], %b: i8[256,256]) {
  %c = matmul %a, %b
  return %c
}
graph @words(%a: i32[256,256], %b: i32[256,256]) {
  %c = matmul %a, %b
  return %c
}
graph @halves(%a: f16[256,256], %b: f16[256,256]) {
  %c = matmul %a, %b
  return %c
}
>>>
$ VIEWFOLD_MACHINE='threads=1 read=10000 copy=10000 fill=10000 gflops=100' viewfold explain --kernel all --threads 1 products.vf | grep -E '^graph|million'
graph @wide: [..]
  limit   0.67[..] ms, by arithmetic: 33.[..] million operations of its loops at 50 GFLOP/s
graph @bytes: [..]
  limit   [..] ms, by arithmetic: 33.[..] million operations of its loops at [..] GFLOP/s
graph @words: [..]
  limit   0.33[..] ms, by arithmetic: 33.[..] million operations of its loops at [..] GFLOP/s
graph @halves: [..]
  limit   0.33[..] ms, by arithmetic: 33.[..] million operations of its loops at [..] GFLOP/s
$ viewfold explain --no-run --target 'vector_bytes=64' --graph halves products.vf | grep blocked
? 1
# Of 8 blocks of keys each block of queries needs 4.5 on average: 896.6 million operations without the
# mask.
$ VIEWFOLD_MACHINE='threads=1 read=10000 copy=10000 fill=10000 gflops=100' viewfold explain --kernel all --threads 1 "$TEST_ROOT/frontend/workloads/A1c.vf" | grep million
  limit   5.043 ms, by arithmetic: 504.3 million operations of its loops at 100 GFLOP/s

== the table alone, the details of one kernel, of all
<<< two.vf
graph @two(%x: f32[300,40]) {
  %s = softmax %x axis=-1
  %t = sort %s axis=0
  %y = sum %t axes=[1]
  return %y
}
>>>
$ viewfold explain two.vf | sed -n '1,3p;$p'
graph @two: [..]
\
kernel   took ms  share  expected     limit  bound by      what would help most; what it is for
memory: [..]
$ viewfold explain two.vf | grep -c '^  why'
0
? 1
$ viewfold explain --kernel 1 two.vf | grep -E '^graph|^kernel|^  (why|took)'
graph @two: [..]
kernel 1 -> [..]
  why     [..]
  took    [..]
$ viewfold explain --kernel all two.vf | grep -c '^kernel [0-9]'
2
$ viewfold explain --kernel 7 two.vf
! viewfold explain: --kernel: there is no kernel 7; without it, the table lists them
! Try 'viewfold explain --help'.
? 2
$ viewfold explain --kernel first two.vf
! viewfold explain: --kernel takes the number of a kernel, or all, found 'first'
! Try 'viewfold explain --help'.
? 2

== a view that is read often through a dear index: what a copy would cost and save
<<< often.vf
graph @often(%x: f32[64,300], %b: f32[1000,64,100]) {
  %p = stride %x steps=[1,3]
  %y = mul %p, %b
  return %y
}
graph @once(%x: f32[64,300], %b: f32[64,100]) {
  %p = stride %x steps=[1,3]
  %y = mul %p, %b
  return %y
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32 l1=32768 l2=1048576 l3=33554432' often.vf | grep -E '^graph|copies'
graph @often: 1 kernel, 0 temporaries
  copies  p[..] is read 6.4e+06 times, each element of its view 1000 times, from places that lie apart along the lanes: a copy of 0.0256 MB (stored) would cost 0.00[..] ms and save 0.[..] ms, both predicted
graph @once: 1 kernel, 0 temporaries
