# cond, while_loop, scan, checkpoint: values, compiled and by the reference evaluator.

== scan: the running sums of spec F15, and from the end
# spec: F15 F15.U
<<< sums.vf
graph @add(%c: i32[], %x: i32[]) {
  %s = add %c, %x
  return %s, %s
}
graph @sums(%x: i32[n=0..8]) {
  %last, %ys = scan 0, %x do=@add
  %first, %zs = scan 0, %x do=@add reverse=true
  return %last, %ys, %first, %zs
}
>>>
$ viewfold run sums.vf --in x=[1,2,3] --check
last: i32[] = 6
ys: i32[3] = [1, 3, 6]
first: i32[] = 6
zs: i32[3] = [6, 5, 3]
check last: 1 element, bit-equal
check ys: 3 elements, bit-equal
check first: 1 element, bit-equal
check zs: 3 elements, bit-equal

$ viewfold run sums.vf --in x=[] --check
last: i32[] = 0
ys: i32[0] = []
first: i32[] = 0
zs: i32[0] = []
check last: 1 element, bit-equal
check ys: 0 elements, bit-equal
check first: 1 element, bit-equal
check zs: 0 elements, bit-equal
== scan of length 0: the state is unchanged, and the stacks are empty
<<< none.vf
graph @add(%c: i32[], %x: i32[]) {
  %s = add %c, 1
  %t = mul %x, %c
  %y = expand %t shape=[2]
  return %s, %y
}
graph @none(%x: i32[0], %c: i32[]) {
  %last, %ys = scan %c, %x do=@add
  return %last, %ys
}
>>>
$ viewfold run none.vf --in x=[] --in c=7 --check
last: i32[] = 7
ys: i32[0,2] = []
check last: 1 element, bit-equal
check ys: 0 elements, bit-equal

== scan: a state of two values, two sliced operands, and one that is the same in all iterations
<<< two.vf
graph @body(%a: f32[], %b: i32[], %x: f32[2], %k: i32[], %w: f32[]) {
  %s = sum %x
  %t = fma %a, %w, %s
  %j = add %b, %k
  return %t, %j, %j, %x, %a
}
graph @two(%x: f32[3,2], %k: i32[3]) {
  %a, %b, %js, %xs, %as = scan 1.0, 0, %x, %k, 2.0 do=@body carries=2 sliced=2
  return %a, %b, %js, %xs, %as
}
>>>
$ viewfold run two.vf --in x=[[1,2],[3,4],[5,6]] --in k=[10,20,30] --check
a: f32[] = 45.0
b: i32[] = 60
js: i32[3] = [10, 30, 60]
xs: f32[3,2] = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
as: f32[3] = [1.0, 5.0, 17.0]
check a: 1 element, bit-equal
check b: 1 element, bit-equal
check js: 3 elements, bit-equal
check xs: 6 elements, bit-equal
check as: 3 elements, bit-equal

== scan: without slices, with a given length
<<< powers.vf
graph @body(%a: f32[]) {
  %b = mul %a, 2.0
  return %b, %a
}
graph @powers() {
  %a, %as = scan 1 do=@body length=5
  return %a, %as
}
>>>
$ viewfold run powers.vf --check
a: f32[] = 32.0
as: f32[5] = [1.0, 2.0, 4.0, 8.0, 16.0]
check a: 1 element, bit-equal
check as: 5 elements, bit-equal

== cond: only one branch is computed, whatever the other one's result would be
# spec: F13
<<< branch.vf
graph @root(%x: f32[2]) {
  %r = sqrt %x
  return %r, true
}
graph @zero(%x: f32[2]) {
  %z = mul %x, 0.0
  return %z, false
}
graph @branch(%p: bool[], %x: f32[2]) {
  %y, %which = cond %p, %x then=@root else=@zero
  return %y, %which
}
>>>
$ viewfold run branch.vf --in p=1 --in x=[4,9] --check
y: f32[2] = [2.0, 3.0]
which: bool[] = true
check y: 2 elements, bit-equal
check which: 1 element, bit-equal
$ viewfold run branch.vf --in p=0 --in x=[4,9] --check
y: f32[2] = [0.0, 0.0]
which: bool[] = false
check y: 2 elements, bit-equal
check which: 1 element, bit-equal

== cond: of a constant predicate is the branch itself
<<< known.vf
graph @a(%x: f32[2]) {
  %r = sqrt %x
  return %r
}
graph @b(%x: f32[2]) {
  %r = neg %x
  return %r
}
graph @known(%x: f32[2]) {
  %y = cond false, %x then=@a else=@b
  return %y
}
>>>
$ viewfold dump --stage=graph known.vf
graph @known(%x: f32[2]) {
  %y = neg %x : f32[2]
  return %y
}

== cond: constants without a dtype take that of the other branch
<<< weak.vf
graph @a(%x: f16[]) {
  return %x
}
graph @b(%x: f16[]) {
  return 0
}
graph @weak(%p: bool[], %x: f16[]) {
  %y = cond %p, %x then=@a else=@b
  return %y
}
>>>
$ viewfold run weak.vf --in p=0 --in x=4 --check
y: f16[] = 0.0
check y: 1 element, bit-equal

== while_loop: Euclid's algorithm
# spec: F14
<<< gcd.vf
graph @more(%a: i32[], %b: i32[]) {
  %p = ne %b, 0
  return %p
}
graph @body(%a: i32[], %b: i32[]) {
  %r = mod %a, %b
  return %b, %r
}
graph @gcd(%a: i32[], %b: i32[]) {
  %d, %zero = while %a, %b while=@more do=@body
  return %d
}
>>>
$ viewfold run gcd.vf --in a=1071 --in b=462 --check
d: i32[] = 21
check d: 1 element, bit-equal
$ viewfold run gcd.vf --in a=5 --in b=0 --check
d: i32[] = 5
check d: 1 element, bit-equal

== while_loop: a bound ends it
<<< bound.vf
graph @always(%a: i32[], %k: i32[]) {
  return true
}
graph @count(%a: i32[], %k: i32[]) {
  %b = add %a, %k
  return %b
}
graph @bound(%k: i32[]) {
  %a = while_loop 0, %k while=@always do=@count bound=7
  %b = while_loop 0, %k while=@always do=@count bound=0
  return %a, %b
}
>>>
$ viewfold run bound.vf --in k=3 --check
a: i32[] = 21
b: i32[] = 0
check a: 1 element, bit-equal
check b: 1 element, bit-equal

== nested functions
<<< nest.vf
graph @odd(%x: i32[]) {
  %t = mul %x, 3
  %y = add %t, 1
  return %y
}
graph @even(%x: i32[]) {
  %y = floordiv %x, 2
  return %y
}
graph @more(%x: i32[], %n: i32[]) {
  %p = gt %x, 1
  return %p
}
graph @body(%x: i32[], %n: i32[]) {
  %m = mod %x, 2
  %p = eq %m, 1
  %y = cond %p, %x then=@odd else=@even
  %k = add %n, 1
  return %y, %k
}
graph @steps(%x: i32[]) {
  %one, %n = while %x, 0 while=@more do=@body
  return %n
}
graph @each(%c: i32[], %x: i32[]) {
  %one, %n = while %x, 0 while=@more do=@body
  %s = add %c, %n
  return %s, %n
}
graph @collatz(%x: i32[4]) {
  %sum, %n = scan 0, %x do=@each
  return %sum, %n
}
>>>
$ viewfold run nest.vf --graph collatz --in x=[1,6,7,27] --check
sum: i32[] = 135
n: i32[4] = [0, 8, 16, 111]
check sum: 1 element, bit-equal
check n: 4 elements, bit-equal

== checkpoint
<<< again.vf
graph @f(%x: f32[2], %w: f32[2]) {
  %y = mul %x, %w
  return %y, %x
}
graph @again(%x: f32[2]) {
  %y, %x2 = checkpoint %x, %x do=@f
  return %y, %x2
}
>>>
$ viewfold run again.vf --in x=[2,3] --check
y: f32[2] = [4.0, 9.0]
x2: f32[2] = [2.0, 3.0]
check y: 2 elements, bit-equal
check x2: 2 elements, bit-equal

== a scan without a state
<<< map.vf
graph @square(%x: f32[2]) {
  %y = mul %x, %x
  return %y
}
graph @map(%x: f32[3,2]) {
  %y = scan %x do=@square carries=0
  return %y
}
>>>
$ viewfold run map.vf --in x=[[1,2],[3,4],[5,6]] --check
y: f32[3,2] = [[1.0, 4.0], [9.0, 16.0], [25.0, 36.0]]
check y: 6 elements, bit-equal
