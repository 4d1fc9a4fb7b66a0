# Control flow whose operands have batch axes: each element takes its own path. Worked numbers; --check
# compares the compiled program with the evaluator, which runs every element separately.
@text g.vf: viewfold dump --stage=graph g.vf

== while_loop: each element has its own trip count, and its own branch in each iteration
<<< collatz.vf
graph @half(%n: i32[]) {
  %h = floordiv %n, 2
  return %h
}
graph @triple(%n: i32[]) {
  %t = mul %n, 3
  %u = add %t, 1
  return %u
}
graph @odd(%n: i32[], %k: i32[]) {
  %p = gt %n, 1
  return %p
}
graph @step(%n: i32[], %k: i32[]) {
  %r = mod %n, 2
  %e = eq %r, 0
  %m = cond %e, %n then=@half else=@triple
  %j = add %k, 1
  return %m, %j
}
graph @collatz(%n: i32[5|]) {
  %last, %steps = while_loop %n, 0 while=@odd do=@step
  %l = decr_batch_dims %last
  %s = decr_batch_dims %steps
  return %l, %s
}
>>>
$ viewfold run collatz.vf --in n=[1,2,3,6,7] --check
l: i32[5] = [1, 1, 1, 1, 1]
s: i32[5] = [0, 1, 7, 8, 16]
check l: 5 elements, bit-equal
check s: 5 elements, bit-equal
$ viewfold run collatz.vf --in n=[1,1,1,1,1] --check
l: i32[5] = [1, 1, 1, 1, 1]
s: i32[5] = [0, 0, 0, 0, 0]
check l: 5 elements, bit-equal
check s: 5 elements, bit-equal

== an index out of range is an error only where its branch is taken
<<< untaken.vf
graph @take(%x: f32[3], %i: i32[]) {
  %y = gather %x, %i
  return %y
}
graph @zero(%x: f32[3], %i: i32[]) {
  %y = expand 0.0 shape=[]
  return %y
}
graph @untaken(%x: f32[3], %i: i32[4|]) {
  %p = lt %i, 3
  %y = cond %p, %x, %i then=@take else=@zero
  %z = decr_batch_dims %y
  return %z
}
>>>
$ viewfold run untaken.vf --in x=[1,2,3] --in i=[0,7,2,3] --check
z: f32[4] = [1.0, 0.0, 3.0, 0.0]
check z: 4 elements, bit-equal
$ viewfold run untaken.vf --in x=[1,2,3] --in i=[0,-7,2,3]
! viewfold run: graph @untaken: gather %x, %i: %i is -7, but axis 0 of %x has 3 elements (untaken.vf:2); indices are -3 to 2, or any with mode="clip" or mode="fill". The results are unspecified
? 2

== a loop that would not end for elements that take another branch
<<< endless.vf
graph @more(%n: i32[]) {
  %p = ne %n, 0
  return %p
}
graph @less(%n: i32[]) {
  %m = sub %n, 2
  return %m
}
graph @down(%n: i32[]) {
  %m = while_loop %n while=@more do=@less
  return %m
}
graph @stay(%n: i32[]) { return %n }
graph @endless(%n: i32[4|]) {
  %r = mod %n, 2
  %p = eq %r, 0
  %y = cond %p, %n then=@down else=@stay
  %z = decr_batch_dims %y
  return %z
}
>>>
$ viewfold run endless.vf --in n=[4,3,8,5] --check
z: i32[4] = [0, 3, 0, 5]
check z: 4 elements, bit-equal

== scan: slices, states and other operands in batches of two levels, forward, reverse, and of length 0
<<< scans.vf
graph @grow(%c: f32[], %x: f32[], %w: f32[]) {
  %q = mul %x, %w
  %n = add %c, %q
  return %n
}
graph @keep(%c: f32[], %x: f32[], %w: f32[]) { return %c }
graph @body(%c: f32[], %x: f32[], %w: f32[]) {
  %p = gt %x, 0.0
  %n = cond %p, %c, %x, %w then=@grow else=@keep
  return %n, %c
}
graph @scans(%x: f32[2|k=0..4], %w: f32[3,1|]) {
  %s, %ys = scan 0.0, %x, %w do=@body sliced=1
  %t, %zs = scan 0.0, %x, %w do=@body sliced=1 reverse=true
  %a = rebatch %s batch_dims=0
  %b = rebatch %ys batch_dims=0
  %c = rebatch %t batch_dims=0
  %d = rebatch %zs batch_dims=0
  return %a, %b, %c, %d
}
>>>
$ viewfold run scans.vf --in 'x=[[1,-2],[-4,5]]' --in w=[[1],[10],[0]] --check
a: f32[3,2] = [[1.0, 5.0], [10.0, 50.0], [0.0, 0.0]]
b: f32[3,2,2] = [[[0.0, 1.0], [0.0, 0.0]], [[0.0, 10.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]
c: f32[3,2] = [[1.0, 5.0], [10.0, 50.0], [0.0, 0.0]]
d: f32[3,2,2] = [[[0.0, 0.0], [5.0, 0.0]], [[0.0, 0.0], [50.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]
check a: 6 elements, bit-equal
check b: 12 elements, bit-equal
check c: 6 elements, bit-equal
check d: 12 elements, bit-equal
$ viewfold run scans.vf --in 'x=[[],[]]' --in w=[[1],[10],[0]] --check
a: f32[3,2] = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
b: f32[3,2,0] = [[[], []], [[], []], [[], []]]
c: f32[3,2] = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
d: f32[3,2,0] = [[[], []], [[], []], [[], []]]
check a: 6 elements, bit-equal
check b: 0 elements, bit-equal
check c: 6 elements, bit-equal
check d: 0 elements, bit-equal

== values that do not depend on the batch have no batch axes: a counter
<<< counted.vf
graph @more(%i: i32[], %s: f32[]) {
  %p = lt %i, 3
  return %p
}
graph @step(%i: i32[], %s: f32[]) {
  %j = add %i, 1
  %t = mul %s, 2.0
  return %j, %t
}
graph @counted(%x: f32[2|]) {
  %i, %s = while_loop 0, %x while=@more do=@step
  %j = decr_batch_dims %i
  %y = decr_batch_dims %s
  return %j, %y
}
>>>
$ viewfold run counted.vf --in x=[1,3] --check
j: i32[2] = [3, 3]
y: f32[2] = [8.0, 24.0]
check j: 2 elements, bit-equal
check y: 2 elements, bit-equal
$ viewfold dump --print-after=physicalize counted.vf
\# after physicalize
graph @counted_f0(%a0: i32[], %a1: f32[2]) {
  %0 = lt %a0, 3 : bool[]
  return %0
}
graph @counted_f1(%a0: i32[], %a1: f32[2]) {
  %0 = add %a0, 1 : i32[]
  %1 = mul %a1, 2.0 : f32[2]
  return %0, %1
}
graph @counted(%x: f32[2]) {
  %0 = const value=0 dtype=i32 : i32[]
  %1, %y = while_loop %0, %x while=@counted_f0 do=@counted_f1 carries=2 : i32[], f32[2]
  %2 = reshape %1 shape=[1] : i32[1]
  %j = expand %2 shape=[2] : i32[2]
  return %j, %y
}

== batches inside a function are separate from those outside, whatever their levels
<<< inner.vf
graph @inner(%x: f32[3], %w: f32[2,3]) {
  %v = batch %w axis=0 level=1
  %m = mul %x, %v
  %s = sum %m
  %y = unbatch %s size=2 axis=0 level=1
  return %y
}
graph @other(%x: f32[3], %w: f32[2,3]) {
  %y = shrink %w bounds=[[0,2],[0,1]]
  %z = reshape %y shape=[2]
  return %z
}
graph @levels(%p: bool[4|], %x: f32[4|3], %w: f32[2,3]) {
  %y = cond %p, %x, %w then=@inner else=@other
  %z = rebatch %y batch_dims=0
  %a = cond true, %x, %w then=@inner else=@other
  %b = rebatch %a batch_dims=0
  return %z, %b
}
>>>
$ viewfold run inner.vf --in 'p=[true,false,true,false]' --in 'x=[[1,0,0],[0,1,0],[0,0,1],[1,1,1]]' --in 'w=[[1,2,3],[4,5,6]]' --check
z: f32[4,2] = [[1.0, 4.0], [1.0, 4.0], [3.0, 6.0], [1.0, 4.0]]
b: f32[4,2] = [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0], [6.0, 15.0]]
check z: 8 elements, bit-equal
check b: 8 elements, bit-equal

== batches that do not align
graph @more(%a: f32[], %b: f32[]) {
  %p = lt %a, %b
  return %p
}
graph @sum(%a: f32[], %b: f32[]) {
  %c = add %a, %b
  return %c, %b
}
graph @bad(%x: f32[2|], %y: f32[3|]) {
  %s, %t = while_loop %x, %y while=@more do=@sum
  return %s, %t
}
! g.vf:10:3: error: while_loop: batches of f32[2|] and f32[3|] do not align: size 2 meets 3; batch axes align at the end (the innermost vmap comes first), and their sizes must be equal or 1
? 2

== a function's result cannot have batch axes
graph @f(%a: f32[3]) {
  %b = batch %a axis=0 level=1
  return %b
}
graph @bad(%x: f32[3]) {
  %s = checkpoint %x do=@f
  return %s
}
! g.vf:6:3: error: checkpoint: result 1 of a function is f32[3|]; parameters and results of a function have no batch axes, as it is applied to each element of a batch
? 2

== nor can its parameters
graph @f(%a: f32[3|]) {
  return %a
}
graph @bad(%x: f32[3|]) {
  %s = checkpoint %x do=@f
  return %s
}
! g.vf:5:3: error: checkpoint: result 1 of a function is f32[3|]; parameters and results of a function have no batch axes, as it is applied to each element of a batch
? 2
