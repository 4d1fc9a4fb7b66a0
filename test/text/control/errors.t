# Control flow that is refused.
@text g.vf: viewfold dump --stage=graph g.vf

== branches of different types: spec F13
# spec: F13.U
graph @a(%x: f32[3]) {
  %s = sum %x
  return %x, %s
}
graph @b(%x: f32[3]) {
  %s = argmax %x
  return %x, %s
}
graph @main(%p: bool[], %x: f32[3]) {
  %y, %z = cond %p, %x then=@a else=@b
  return %y, %z
}
! g.vf:10:3: error: cond: result 2 is i64[] in the second branch, f32[] in the first; both must have the same shape and dtype
? 2

== branches of different shapes
graph @a(%x: f32[n=1..8]) { return %x }
graph @b(%x: f32[n=1..8]) {
  %y = pad %x pads=[[0,1]]
  return %y
}
graph @main(%p: bool[], %x: f32[n=1..8]) {
  %y = cond %p, %x then=@a else=@b
  return %y
}
! g.vf:7:3: error: cond: result 1 is f32[(n+1)] in the second branch, f32[n] in the first; both must have the same shape and dtype
? 2

== branches of a different number of results
graph @a(%x: f32[3]) { return %x }
graph @b(%x: f32[3]) { return %x, %x }
graph @main(%p: bool[], %x: f32[3]) {
  %y = cond %p, %x then=@a else=@b
  return %y
}
! g.vf:4:3: error: cond: the first branch has 1 result, the second 2; both must have the same number
? 2

== a predicate that is no bool
graph @a(%x: f32[3]) { return %x }
graph @main(%p: i32[], %q: bool[2], %x: f32[3]) {
  %y = cond %q, %x then=@a else=@a
  return %y
}
! g.vf:3:3: error: cond: the predicate is bool[2]; it must be a bool of rank 0: compare, or reduce it
? 2

== operands of other types than the functions' parameters
graph @a(%x: f32[3]) { return %x }
graph @main(%p: bool[], %x: f32[3], %y: f32[4]) {
  %z = cond %p, %y then=@a else=@a
  return %z
}
! g.vf:3:3: error: cond: operand 1 is f32[4], the first branch takes f32[3]; both must have the same shape and dtype
? 2

== too many operands
graph @a(%x: f32[3]) { return %x }
graph @main(%p: bool[], %x: f32[3]) {
  %z = cond %p, %x, %x then=@a else=@a
  return %z
}
! g.vf:3:3: error: cond: the first branch takes 1 operand, 2 given; it must take as many as are given
? 2

== a state that changes its type
graph @grow(%x: f32[3]) {
  %y = concat %x, %x
  return %y
}
graph @main(%x: f32[3]) {
  %z = scan %x do=@grow length=4
  return %z
}
! g.vf:6:3: error: scan: value 1 of the state is f32[6] after an iteration, f32[3] before; both must have the same shape and dtype
? 2

== slices of different lengths
graph @f(%c: f32[], %x: f32[], %y: f32[]) {
  %d = fma %x, %y, %c
  return %d
}
graph @main(%x: f32[3], %y: f32[4]) {
  %z = scan 0, %x, %y do=@f
  return %z
}
! g.vf:6:3: error: scan: operand 3 is f32[4], the length is 3; the first axis of an operand to slice must have that size
? 2

== two different symbolic lengths
graph @f(%c: f32[], %x: f32[], %y: f32[]) {
  %d = fma %x, %y, %c
  return %d
}
graph @main(%x: f32[n=1..4], %y: f32[m=1..4]) {
  %z = scan 0, %x, %y do=@f
  return %z
}
! g.vf:6:3: error: scan: operand 3 is f32[m], the length is n; the first axis of an operand to slice must have that size; needs m == n, known: 1 <= m <= 4, 1 <= n <= 4; use one variable for both
? 2

== a scalar cannot be sliced
graph @f(%c: f32[], %x: f32[]) { return %c }
graph @main(%x: f32[]) {
  %z = scan 0, %x do=@f
  return %z
}
! g.vf:3:3: error: scan: operand 2 is f32[]; an operand to slice must have at least one axis
? 2

== a scan without a length
graph @f(%c: f32[]) { return %c }
graph @main(%x: f32[]) {
  %z = scan %x do=@f
  return %z
}
! g.vf:3:3: error: scan: no operand is sliced and no length is given; give one of both
? 2

== a condition that is no bool
graph @f(%c: f32[]) { return %c }
graph @main(%x: f32[]) {
  %z = while %x while=@f do=@f
  return %z
}
! g.vf:3:3: error: while: the condition has 1 result, the first one f32[]; it must have one, a bool of rank 0
? 2

== a body that returns more than the state
graph @p(%c: f32[]) { return true }
graph @f(%c: f32[]) { return %c, %c }
graph @main(%x: f32[]) {
  %z = while %x while=@p do=@f
  return %z
}
! g.vf:4:3: error: while: the body has 2 results for a state of 1; it must return the next state
? 2

== a graph that is not defined, or is the caller itself
graph @main(%p: bool[], %x: f32[]) {
  %z = cond %p, %x then=@main else=@main
  return %z
}
! g.vf:2:25: error: unknown graph, found '@main', expected a graph defined above; a graph does not call itself: what is repeated is the do=@f of while_loop or scan
? 2

== attributes that are no graphs
graph @main(%p: bool[], %x: f32[]) {
  %z = cond %p, %x then=main else=3
  return %z
}
! g.vf:2:3: error: cond: attribute then is main; it is a graph, such as @f
? 2

== a symbolic size with other bounds
graph @f(%x: f32[n=1..4]) { return %x }
graph @main(%p: bool[], %x: f32[n=1..5]) {
  %z = cond %p, %x then=@f else=@f
  return %z
}
! g.vf:3:25: error: variable declared again with other bounds, found 'n', expected its name alone
? 2

== an index out of range in the branch that is taken, and in the one that is not
<<< g.vf
graph @look(%x: f32[3], %i: i32[]) {
  %y = gather %x, %i
  return %y
}
graph @zero(%x: f32[3], %i: i32[]) { return 0.0 }
graph @main(%p: bool[], %x: f32[3], %i: i32[]) {
  %y = cond %p, %x, %i then=@look else=@zero
  return %y
}
>>>
$ viewfold run g.vf --in p=0 --in x=[1,2,3] --in i=9 --check
y: f32[] = 0.0
check y: 1 element, bit-equal
$ viewfold run g.vf --in p=1 --in x=[1,2,3] --in i=9
! viewfold run: graph @main: gather %x, %i: %i is 9, but axis 0 of %x has 3 elements (g.vf:2); indices are -3 to 2, or any with mode="clip" or mode="fill". The results are unspecified
? 2

== functions nest at most 64 deep
$ awk 'BEGIN { print "graph @f0(%x: i32[]) {\n%y = add %x, 1\nreturn %y\n}";
>  for (i = 1; i <= 65; i++) print "graph @f" i "(%x: i32[]) {\n%y = scan %x do=@f" i-1 " length=1\nreturn %y\n}" }' > deep.vf
$ viewfold run deep.vf --graph f64 --in x=0
! deep.vf:262:1: error: scan: functions are nested 65 deep; they nest at most 64 deep
? 2
$ viewfold run deep.vf --graph f65 --in x=0
! deep.vf:262:1: error: scan: functions are nested 65 deep; they nest at most 64 deep
? 2
