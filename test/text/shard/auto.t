# The automatic choice of shardings.

== columns of the first matrix and rows of the second: one sum, of few rows
<<< layer.vf
mesh @m [x=4]
graph @layer(%h: f32[16,1024] @m[-,-], %w: f32[1024,4096], %v: f32[4096,1024]) {
  %s = matmul %h, %w
  %a = relu %s
  %p = matmul %a, %v : f32[16,1024] @m[-,-]
  return %p
}
>>>
$ viewfold dump --stage=shard --auto layer.vf
\# %p: [-,-]+x to [-,-], all_reduce: asked for
mesh @m [x=4]
graph @layer(%h: f32[16,1024] @m[-,-], %w: f32[1024,4096] @m[-,x], %v: f32[4096,1024] @m[x,-]) {
  %0 = matmul %h, %w : f32[16,4096] @m[-,x]
  %1 = relu %0 : f32[16,4096] @m[-,x]
  %p = matmul %1, %v : f32[16,1024] @m[-,-]
  return %p
}

== heads are divided; a half block receives as much as one all_reduce of its result: twice three quarters of 32768 bytes
<<< half.vf
mesh @m [x=4]
graph @half(%h: f32[16,512] @m[-,-], %wq: f32[512,512], %wk: f32[512,512], %wv: f32[512,512], %wo: f32[512,512]) {
  %qm = matmul %h, %wq
  %qr = reshape %qm shape=[16,8,64]
  %q = permute %qr order=[1,0,2]
  %km = matmul %h, %wk
  %kr = reshape %km shape=[16,8,64]
  %k = permute %kr order=[1,2,0]
  %vm = matmul %h, %wv
  %vr = reshape %vm shape=[16,8,64]
  %v = permute %vr order=[1,0,2]
  %s = matmul %q, %k
  %p = softmax %s axis=2
  %a = matmul %p, %v
  %t = permute %a order=[1,0,2]
  %r = reshape %t shape=[16,512]
  %o = matmul %r, %wo
  %y = add %h, %o : f32[16,512] @m[-,-]
  return %y
}
>>>
$ viewfold explain --mesh --auto half.vf
graph @half on mesh @m [x=4]: 2 collectives; a device receives 49152 bytes at most, all of them 196608
all devices on host [..]
latency and bandwidth are not known: 1 us and 10 GB/s are assumed
\
%o, operand 0: [-,x] to [-,-]: other operands or the result are divided like that
  all_gather x to [-,-]                       receives 24576, all 98304, peak 40960, 5.46 us
  next best: [-,x], [x,-] to [-,-]+x, 48.3 us in place of 24.7 us
\
%y, operand 0: [-,-] to [-,x]: other operands or the result are divided like that
  slice x to [-,x]                            receives 0, all 0, peak 40960, 0 us
  next best: [x,-], [x,-] to [x,-], 9.32 us in place of 6.1 us
\
%y: [-,x] to [-,-]: asked for
  all_gather x to [-,-]                       receives 24576, all 98304, peak 40960, 5.46 us
  next best: [x,-], [x,-] to [x,-], 9.32 us in place of 6.1 us
\
%o: factor n takes x before factor k x of %r, priority 0, 32768 bytes
graph @half: predicted 0.09502 ms, computing 0.0861, moving 0.008915; the least; a device holds 1130496 bytes

== open dimensions alone are chosen, and results are the same
<<< open.vf
graph @g(%a: f32[2,4], %b: f32[4,2]) {
  %c = matmul %a, %b
  return %c
}
>>>
$ viewfold run open.vf --in 'a=[[1,2,3,4],[1,0,1,0]]' --in 'b=[[1,0],[0,1],[1,1],[0,-1]]' --mesh x=2 --shard 'a=[-,x]' --auto --check
c: f32[2,2] = [[4.0, 1.0], [2.0, 1.0]]
check c: 4 elements, bit-equal

== a mesh is needed
$ viewfold run open.vf --auto
? 2
! viewfold run: --auto takes a mesh; for example: --mesh x=2,y=4
! Try 'viewfold run --help'.
$ viewfold explain open.vf --auto
? 2
! viewfold explain: --auto: takes --mesh, of which it says what is predicted
! Try 'viewfold explain --help'.

== the body of a scan counts as often as it runs: weights are divided as the rounds want them, columns and rows, and what is carried by rows, so that nothing but a sum of parts and a gather is left in a round
<<< layers.vf
mesh @m [x=4]
graph @block(%h: f32[16,1024], %w: f32[1024,4096], %v: f32[4096,1024]) {
  %s = matmul %h, %w
  %a = relu %s
  %p = matmul %a, %v
  %y = add %h, %p
  return %y
}
graph @g(%h: f32[16,1024] @m[-,-], %ws: f32[8,1024,4096], %vs: f32[8,4096,1024]) {
  %y = scan %h, %ws, %vs do=@block carries=1 sliced=2
  return %y
}
>>>
$ viewfold dump --stage=shard --auto --graph g layers.vf | grep 'graph\|#'
\# matmul, operand 0: [x,-] to [-,-], all_gather: other operands or the result are divided like that
\# add, operand 1: [-,-]+x to [x,-], reduce_scatter: the operation does not commute with the pending reduction
\# scan, operand 0: [-,-] to [x,-], a view: other operands or the result are divided like that
graph @g_f0(%a0: f32[16,1024] @m[x,-], %a1: f32[1024,4096] @m[-,x], %a2: f32[4096,1024] @m[x,-]) {
graph @g(%h: f32[16,1024] @m[-,-], %ws: f32[8,1024,4096] @m[-,-,x], %vs: f32[8,4096,1024] @m[-,x,-]) {

== axes along which elements only move are divided too: a part receives what it reads, and totals of what accumulates
<<< moved.vf
mesh @m [x=4]
graph @g(%a: f32[4194304]) {
  %h = exp %a
  %s = slice %h bounds=[[100,4194304]]
  %p = pad %s pads=[[100,0]]
  %c = cumsum %p axis=0
  %y = tanh %c
  return %y
}
>>>
$ viewfold dump --stage=shard --auto moved.vf | grep '^graph\|#'
\# %c: [x] to [x], exchange: totals of the parts are combined
graph @g(%a: f32[4194304] @m[x]) {
