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
- scan, operand 0: [-,-] to [x,y], a view: other operands or the result are divided like that
- scan, operand 0: [-,-] to [x,y], a view: other operands or the result are divided like that
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
