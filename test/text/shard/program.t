# The program of one device: dump --stage=shard, spmd, rank:N. spec: PS7 C1 E4 E5

== a two-layer perceptron on 8 devices
<<< mlp.vf
mesh @m [x=2, y=4]
graph @mlp(%h: f32[16,32] @m[x,-], %w: f32[32,128] @m[-,y], %v: f32[128,32] @m[y,-]) {
  %s = matmul %h, %w
  %a = relu %s
  %p = matmul %a, %v
  %q = shard %p to=[x,-]
  return %q
}
>>>
$ viewfold dump --stage=shard mlp.vf | sed 's/^# /- /'
- %q, operand 0: [x,-]+y to [x,-], all_reduce: asked for
mesh @m [x=2,y=4]
graph @mlp(%h: f32[16,32] @m[x,-], %w: f32[32,128] @m[-,y], %v: f32[128,32] @m[y,-]) {
  %0 = matmul %h, %w : f32[16,128] @m[x,y]
  %1 = relu %0 : f32[16,128] @m[x,y]
  %2 = matmul %1, %v : f32[16,32] @m[x,-]+y
  %q = shard %2 to=[x,-] : f32[16,32] @m[x,-]
  return %q
}
$ viewfold dump --stage=spmd mlp.vf | tee spmd.vf | sed 's/^# /- /'
- mesh @m [x=2,y=4]
- %h: part [x,-] of f32[16,32]
- %w: part [-,y] of f32[32,128]
- %v: part [y,-] of f32[128,32]
- result %q: part [x,-] of f32[16,32]
- x: the coordinate along x
- y: the coordinate along y
graph @mlp(%h: f32[8,32], %w: f32[32,32], %v: f32[32,32]) {
  %0 = matmul %h, %w : f32[8,32]
  %1 = relu %0 : f32[8,32]
  %2 = matmul %1, %v : f32[8,32]
  %3 = reshape %2 shape=[1,1,256] : f32[1,1,256]
  %4 = exchange %3 shape=[1,4,64] start=[x=0..1,0,(y=0..3*64)] at=[x,y,0] kind="all_reduce" : f32[1,4,64]
  %5 = sum %4 axes=[1] : f32[1,64]
  %6 = exchange %5 shape=[1,256] start=[x,0] at=[x,(y*64)] kind="all_reduce" : f32[1,256]
  %q = reshape %6 shape=[8,32] : f32[8,32]
  return %q
}
$ viewfold dump --stage=graph spmd.vf > again.vf; grep -v '^#' spmd.vf | diff - again.vf
$ viewfold dump --stage=rank:5 mlp.vf | grep exchange
  %4 = exchange %3 shape=[1,4,64] start=[1,0,64] at=[1,1,0] kind="all_reduce" : f32[1,4,64]
  %6 = exchange %5 shape=[1,256] start=[1,0] at=[1,64] kind="all_reduce" : f32[1,256]

== uneven parts, axes that are never split, means
<<< uneven.vf
mesh @m [x=2, y=4]
graph @g(%h: f32[10,7] @m[x,y], %w: f32[7,9]) {
  %s = matmul %h, %w
  %a = exp %s
  %m = mean %a axes=[0]
  %c = cumsum %a axis=0
  return %m, %c
}
>>>
$ viewfold dump --stage=shard uneven.vf | sed -n 's/^# /- /p'
- %a, operand 0: [x,-]+y to [x,-], all_reduce: the operation does not commute with the pending reduction
- %m: [-]+x to [-], all_reduce: a mean is divided when its sum is known
- %c: [x,-] to [x,-], exchange: totals of the parts are combined
$ viewfold dump --stage=spmd uneven.vf | grep -e part0 -e div | sed 's/^# /- /'
- part0 = min(((y*-2)+7), 2)
graph @g(%h: f32[5,part0=1..2], %w: f32[part0,9]) {
  %m = div %10, 10.0 : f32[9]

== what is not there
$ printf 'graph @g(%%x: f32[4]) {\n  return %%x\n}\n' > none.vf; viewfold dump --stage=spmd none.vf
! viewfold dump: graph @g has no mesh; a text declares one, as in mesh @m [x=2,y=4]
? 2
$ printf 'mesh @m [x=2]\ngraph @g(%%x: f32[4]) {\n  return %%x\n}\n' > one.vf; viewfold dump --stage=rank:2 one.vf
! viewfold dump: no device 2; mesh @m has devices 0 to 1
? 2
