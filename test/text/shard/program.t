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
- y: the coordinate along y
- x: the coordinate along x
graph @mlp(%h: f32[8,32], %w: f32[32,32], %v: f32[32,32]) {
  %0 = matmul %h, %w : f32[8,32]
  %1 = relu %0 : f32[8,32]
  %2 = matmul %1, %v : f32[8,32]
  %3 = unsqueeze %2 axis=0 : f32[1,8,32]
  %4 = exchange %3 shape=[4,8,32] start=[0,(x=0..1*8),0] at=[y=0..3,(x*8),0] kind="all_reduce" : f32[4,8,32]
  %q = sum %4 axes=[0] : f32[8,32]
  return %q
}
$ viewfold dump --stage=graph spmd.vf > again.vf; grep -v '^#' spmd.vf | diff - again.vf
$ viewfold dump --stage=rank:5 mlp.vf | grep exchange
  %4 = exchange %3 shape=[4,8,32] start=[0,8,0] at=[1,8,0] kind="all_reduce" : f32[4,8,32]

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
- %s, operand 1: [-,-] to [y,-], a view: other operands or the result are divided like that
- %a, operand 0: [x,-]+y to [x,-], all_reduce: the operation does not commute with the pending reduction
- %m: [-]+x to [-], all_reduce: a mean is divided when its sum is known
- %c, operand 0: [x,-] to [-,-], all_gather: the operation never splits that axis
$ viewfold dump --stage=spmd uneven.vf | grep -e part0 -e div | sed 's/^# /- /'
- part0 = min(((y*-2)+7), 2)
graph @g(%h: f32[5,part0=1..2], %w: f32[7,9]) {
  %0 = shrink %w bounds=[[(y=0..3*2),(part0+(y*2))],[0,9]] : f32[part0,9]
  %m = div %9, 10.0 : f32[9]

== what is not there
$ printf 'graph @g(%%x: f32[4]) {\n  return %%x\n}\n' > none.vf; viewfold dump --stage=spmd none.vf
! viewfold dump: dump: graph @g has no mesh; a text declares one, as in mesh @m [x=2,y=4]
? 2
$ printf 'mesh @m [x=2]\ngraph @g(%%x: f32[4]) {\n  return %%x\n}\n' > one.vf; viewfold dump --stage=rank:2 one.vf
! viewfold dump: dump: no device 2; mesh @m has devices 0 to 1
? 2
