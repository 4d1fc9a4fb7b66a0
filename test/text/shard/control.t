# Control flow on meshes: functions are divided inside. spec: R12

== a recurrent cell: the state takes the spec that the body gives it, and stays divided in all rounds
<<< rnn.vf
mesh @m [x=2,y=2]
graph @cell(%h: f32[4,6], %x: f32[4,3], %w: f32[3,6], %u: f32[6,6]) {
  %a = matmul %x, %w
  %b = matmul %h, %u
  %t = add %a, %b
  return %t, %t
}
graph @g(%xs: f32[5,4,3] @m[-,x,-], %w: f32[3,6] @m[-,y], %u: f32[6,6] @m[y,-]) {
  %z = zeros shape=[4,6]
  %h, %ys = scan %z, %xs, %w, %u do=@cell carries=1 sliced=1
  return %h, %ys
}
>>>
$ viewfold dump --stage=shard rnn.vf | sed -n 's/^# /- /p; /scan/p'
- add, operand 1: [x,-]+y to [x,y], reduce_scatter: the operation does not commute with the pending reduction
  %h, %ys = scan %2, %xs, %w, %u do=@g_f0 length=5 carries=1 sliced=1 : f32[4,6] @m[x,y], f32[5,4,6] @m[-,x,y]
$ viewfold dump --stage=spmd rnn.vf > spmd.vf; grep -c exchange spmd.vf; grep 'graph @g_f0' spmd.vf
1
graph @g_f0(%a0: f32[2,3], %a1: f32[2,3], %a2: f32[3,3], %a3: f32[3,6]) {

== exchanges in loops, conditions and checkpoints: devices take the same way
<<< loops.vf
mesh @m [x=3]
graph @more(%i: i32[], %h: i32[4]) {
  %s = sum %h
  %p = lt %s, 1000
  return %p
}
graph @step(%i: i32[], %h: i32[4]) {
  %j = add %i, 1
  %r = flip %h axes=[0]
  %k = cumsum %r axis=0
  return %j, %k
}
graph @yes(%h: i32[4]) {
  %a = sort %h axis=0 descending=true
  return %a
}
graph @no(%h: i32[4]) {
  %a = neg %h
  return %a
}
graph @g(%h: i32[4] @m[x]) {
  %i, %k = while_loop 0, %h while=@more do=@step
  %s = sum %k
  %p = gt %s, 5
  %c = cond %p, %k then=@yes else=@no
  %v = checkpoint %c do=@no
  return %i, %k, %c, %v
}
>>>
$ viewfold run loops.vf --graph g --mesh x=3 --in 'h=[1,2,3,4]' --check
i: i32[] = 5
k: i32[4] = [246, 462, 622, 707]
c: i32[4] = [707, 622, 462, 246]
v: i32[4] = [-707, -622, -462, -246]
check i: 1 element, bit-equal
check k: 4 elements, bit-equal
check c: 4 elements, bit-equal
check v: 4 elements, bit-equal


== a scanned axis is whole on every device; a function's parameter may have a spec of its own
<<< scanned.vf
mesh @m [x=2]
graph @body(%c: f32[4] @m[x], %x: f32[4]) {
  %d = add %c, %x
  return %d
}
graph @g(%c: f32[4], %xs: f32[6,4] @m[x,-]) {
  %r = scan %c, %xs do=@body carries=1 sliced=1
  return %r
}
>>>
$ viewfold dump --stage=shard scanned.vf | sed -n 's/^# /- /p'
- add, operand 1: [-] to [x], a view: other operands or the result are divided like that
- scan, operand 1: [x,-] to [-,-], all_gather: the operation never splits that axis

== specs pass through bodies, forwards and backwards: sliced, stacked, carried values and weights, branches
<<< through.vf
mesh @m [x=2,y=2]
graph @cell(%h: f32[4,6], %x: f32[4,3], %w: f32[3,6], %b: f32[6]) {
  %a = matmul %x, %w
  %t = add %h, %a
  %u = add %t, %b
  return %u, %t
}
graph @then(%v: f32[4,6]) {
  %r = relu %v
  return %r
}
graph @else(%v: f32[4,6]) {
  %r = neg %v
  return %r
}
graph @more(%i: i32[], %v: f32[4,6]) {
  %m = lt %i, 3
  return %m
}
graph @do(%i: i32[], %v: f32[4,6]) {
  %j = add %i, 1
  %t = exp %v
  return %j, %t
}
graph @forwards(%p: bool[], %h: f32[4,6] @m[x,y], %xs: f32[5,4,3], %w: f32[3,6], %b: f32[6]) {
  %o, %ys = scan %h, %xs, %w, %b do=@cell carries=1 sliced=1
  %c = cond %p, %o then=@then else=@else
  %i, %l = while_loop 0, %c while=@more do=@do
  return %l, %ys
}
graph @backwards(%p: bool[], %h: f32[4,6], %xs: f32[5,4,3], %w: f32[3,6], %b: f32[6]) {
  %o, %ys = scan %h, %xs, %w, %b do=@cell carries=1 sliced=1
  %c = cond %p, %o then=@then else=@else
  %i, %l = while_loop 0, %c while=@more do=@do
  %z = mul %l, 2.0 : f32[4,6] @m[x,y]
  return %z, %ys
}
>>>
$ for g in forwards backwards; do viewfold dump --stage=shard --graph $g through.vf | sed -n "/graph @$g(/p; / = scan\| = cond\| = while/p"; done
graph @forwards(%p: bool[] @m[], %h: f32[4,6] @m[x,y], %xs: f32[5,4,3] @m[-,x,-], %w: f32[3,6] @m[-,y], %b: f32[6] @m[y]) {
  %0, %ys = scan %h, %xs, %w, %b do=@forwards_f0 length=5 carries=1 sliced=1 : f32[4,6] @m[x,y], f32[5,4,6] @m[-,x,y]
  %1 = cond %p, %0 then=@forwards_f1 else=@forwards_f2 : f32[4,6] @m[x,y]
  %3, %l = while_loop %2, %1 while=@forwards_f3 do=@forwards_f4 carries=2 : i32[], f32[4,6] @m[x,y]
graph @backwards(%p: bool[] @m[], %h: f32[4,6] @m[x,y], %xs: f32[5,4,3] @m[-,x,-], %w: f32[3,6] @m[-,y], %b: f32[6] @m[y]) {
  %0, %ys = scan %h, %xs, %w, %b do=@backwards_f0 length=5 carries=1 sliced=1 : f32[4,6] @m[x,y], f32[5,4,6] @m[-,x,y]
  %1 = cond %p, %0 then=@backwards_f1 else=@backwards_f2 : f32[4,6] @m[x,y]
  %3, %4 = while_loop %2, %1 while=@backwards_f3 do=@backwards_f4 carries=2 : i32[], f32[4,6] @m[x,y]

== a scan that adds up gradients carries what each device has added: one reduction, after the rounds
<<< adds.vf
mesh @m [x=4]
graph @step(%g: i32[2,3], %x: i32[4,2], %d: i32[4,3]) {
  %t = permute %x order=[1,0]
  %m = matmul %t, %d
  %s = add %g, %m
  return %s
}
graph @g(%xs: i32[2,4,2] @m[-,x,-], %ds: i32[2,4,3] @m[-,x,-]) {
  %o = ones shape=[2,3] dtype=i32
  %s = scan %o, %xs, %ds do=@step carries=1 sliced=2
  return %s
}
>>>
$ viewfold dump --stage=shard --graph g adds.vf | sed -n 's/^# /- /p; /= scan/p'
- scan, operand 0: [-,-] to [-,-]+x, a view: other operands or the result are divided like that
- %s: [-,-]+x to [-,-], reduce_scatter and all_reduce and all_gather: a result is not pending
  %s = scan %2, %xs, %ds do=@g_f0 length=2 carries=1 sliced=2 : i32[2,3] @m[-,-]+x
$ viewfold run --graph g adds.vf --mesh x=4 --check --in 'xs=[[[1,2],[3,4],[5,6],[7,8]],[[1,0],[0,1],[1,1],[2,2]]]' --in 'ds=[[[1,2,3],[4,5,6],[7,8,9],[1,1,1]],[[1,2,3],[4,5,6],[7,8,9],[1,1,1]]]'
s: i32[2,3] = [[66, 77, 88], [82, 96, 110]]
check s: 6 elements, bit-equal
