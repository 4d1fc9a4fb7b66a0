# Functions that write references, and calls of them that are refused, each with its whole message.
<<< value.vf
graph @f(%a: ref f32[4]) {
  %a = neg %a
  return
}
graph @less(%a: ref f32[4]) {
  %a = neg %a
  %c = any false
  return %c
}
graph @g(%x: f32[4]) {
  call %x do=@f
  return %x
}
>>>
<<< literal.vf
graph @f(%a: ref f32[4]) {
  %a = neg %a
  return
}
graph @less(%a: ref f32[4]) {
  %a = neg %a
  %c = any false
  return %c
}
graph @g(%a: ref f32[4]) {
  call 0 do=@f
  return
}
>>>
<<< twice.vf
graph @f(%a: ref f32[4], %b: ref f32[4]) {
  %t = %a
  %a = %b
  %b = %t
  return
}
graph @g(%a: ref f32[4]) {
  call %a, %a do=@f
  return
}
>>>
<<< shape.vf
graph @f(%a: ref f32[4]) {
  %a = neg %a
  return
}
graph @less(%a: ref f32[4]) {
  %a = neg %a
  %c = any false
  return %c
}
graph @g(%a: ref f32[5]) {
  call %a do=@f
  return
}
>>>
<<< few.vf
graph @f(%a: ref f32[4]) {
  %a = neg %a
  return
}
graph @less(%a: ref f32[4]) {
  %a = neg %a
  %c = any false
  return %c
}
graph @g(%a: ref f32[4]) {
  call do=@f
  return
}
>>>
<<< many.vf
graph @f(%a: ref f32[4]) {
  %a = neg %a
  return
}
graph @less(%a: ref f32[4]) {
  %a = neg %a
  %c = any false
  return %c
}
graph @g(%a: ref f32[4], %x: f32[4]) {
  call %x, %a do=@f
  return
}
>>>
<<< named.vf
graph @f(%a: ref f32[4]) {
  %a = neg %a
  return
}
graph @less(%a: ref f32[4]) {
  %a = neg %a
  %c = any false
  return %c
}
graph @g(%a: ref f32[4]) {
  %a = call %a do=@f
  return
}
>>>
<<< unnamed.vf
graph @f(%a: f32[4]) {
  %b = neg %a
  return %b
}
graph @g(%a: ref f32[4]) {
  call %a do=@f
  return
}
>>>
<<< condition.vf
graph @f(%a: ref f32[4]) {
  %a = neg %a
  return
}
graph @less(%a: ref f32[4]) {
  %a = neg %a
  %c = any false
  return %c
}
graph @g(%a: ref f32[4]) {
  while_loop %a while=@less do=@f
  return
}
>>>
<<< behind.vf
graph @f(%k: i32[], %a: ref f32[4]) {
  %a = neg %a
  %n = add %k, 1
  return %n
}
graph @g(%a: ref f32[4]) {
  %k = scan 0, %a do=@f carries=1 length=3
  return %k
}
>>>
<<< sliced.vf
graph @f(%k: i32[], %a: ref f32[]) {
  %a = neg %a
  return %k
}
graph @g(%a: ref f32[4]) {
  %k = scan 0, %a do=@f
  return %k
}
>>>
<<< target.vf
graph @f(%a: ref f32[4], %t: i64[2]) {
  %a = assign %a, %t, 1
  return
}
graph @g(%a: ref f32[4]) {
  %p = address %a
  %t = shrink %p bounds=[[1,3]]
  call %a, %t do=@f
  return
}
>>>
<<< view.vf
graph @f(%a: ref f32[2]) {
  %a = neg %a
  return
}
graph @g(%a: ref f32[4]) {
  %v = shrink %a bounds=[[1,3]]
  call %v do=@f
  return
}
>>>
<<< branches.vf
graph @f(%a: ref f32[4]) {
  %a = neg %a
  return
}
graph @h(%a: ref f32[4]) {
  %s = sum %a
  return %s
}
graph @g(%a: ref f32[4], %p: bool[]) {
  cond %p, %a then=@f else=@h
  return
}
>>>
<<< batch.vf
graph @f(%a: ref f32[4], %u: f32[4]) {
  %p = address %a
  %a = assign %a, %p, %u
  return
}
graph @g(%a: ref f32[4], %u: f32[3,4]) {
  %b = batch %u axis=0 level=1
  call %a, %b do=@f
  return
}
>>>
<<< version.vf
graph @f(%a: ref f32[4]) {
  %a = neg %a
  return
}
graph @g(%a: ref f32[4]) {
  %old = %a
  call %old do=@f
  return
}
>>>
<<< scan_state.vf
graph @f(%a: ref f32[4], %x: f32[]) {
  %a = add %a, %x
  return %x, %x
}
graph @g(%a: ref f32[4], %x: f32[3]) {
  %k, %j = scan %a, 0, %x do=@f carries=2
  return %k, %j
}
>>>

== a value in place of a reference
$ viewfold dump --stage=graph value.vf
! value.vf:11:8: error: a function writes operand 1, found '%x', expected a reference, a parameter of this graph as in '%a: ref f32[4]'; for a part of one, give the reference and take the view in the function
? 2

== a literal in place of a reference
$ viewfold dump --stage=graph literal.vf
! literal.vf:11:8: error: a function writes operand 1, found '0', expected a reference, a parameter of this graph as in '%a: ref f32[4]'; for a part of one, give the reference and take the view in the function
? 2

== one reference twice
$ viewfold dump --stage=graph twice.vf
! twice.vf:8:12: error: functions write operands 1 and 2, found '%a' for both, expected references that are not the same
? 2

== a reference of another shape
$ viewfold dump --stage=graph shape.vf
! shape.vf:11:3: error: call: operand 1 is f32[5], the body takes f32[4]; both must have the same shape and dtype
? 2

== no operand
$ viewfold dump --stage=graph few.vf
! few.vf:11:3: error: call: the body takes 1 operand, 0 given; it must take as many as are given
? 2

== too many operands
$ viewfold dump --stage=graph many.vf
! many.vf:11:3: error: call: the body takes 1 operand, 2 given; it must take as many as are given
? 2

== a name for what has one
$ viewfold dump --stage=graph named.vf
! named.vf:11:3: error: wrong number of results of call, found 1 name, expected 0; references have their names already
? 2

== no name for a result
$ viewfold dump --stage=graph unnamed.vf
! unnamed.vf:6:3: error: wrong number of results of call, found 0 names, expected 1, as many as @f returns
? 2

== a condition that writes
$ viewfold dump --stage=graph condition.vf
! condition.vf:11:3: error: while_loop: the condition writes a reference; conditions only read: write it in the body
? 2

== a reference behind the state
$ viewfold dump --stage=graph behind.vf
! behind.vf:7:3: error: scan: the function writes operand 2, a reference, and the state has 1; a reference that a loop writes is part of the state: give it among the first operands, and count it in carries
? 2

== a reference without slices, and no length
$ viewfold dump --stage=graph sliced.vf
! sliced.vf:6:3: error: scan: no operand is sliced and no length is given; give one of both
? 2

== a target in place of the reference and the positions
$ viewfold dump --stage=graph target.vf
! target.vf:2:3: error: assign: the target i64[2] is made by input; a target is a chain of views of the positions of x: address %x, then views of that; by indices, elements are named with gather %positions, %indices
? 2

== a view of a reference
$ viewfold dump --stage=graph view.vf
! view.vf:7:8: error: a function writes operand 1, found '%v', expected a reference, a parameter of this graph as in '%a: ref f32[4]'; for a part of one, give the reference and take the view in the function
? 2

== branches with different results
$ viewfold dump --stage=graph branches.vf
! branches.vf:10:3: error: cond: the first branch has 1 result, the second 2; both must have the same number
? 2

== a batch of operands
$ viewfold dump --stage=graph batch.vf
! batch.vf:8:8: error: a version of the reference '%a' of another type, found f32[3|4], expected f32[4]; each element of a batch would leave another version: write the reference outside
? 2

== an older version
$ viewfold dump --stage=graph version.vf
! version.vf:7:8: error: a function writes operand 1, found '%old', expected a reference, a parameter of this graph as in '%a: ref f32[4]'; for a part of one, give the reference and take the view in the function
? 2

== a function that writes what is a value of the state
$ viewfold dump --stage=graph scan_state.vf
! scan_state.vf:6:21: error: a function writes operand 2, found '0', expected a reference, a parameter of this graph as in '%a: ref f32[4]'; for a part of one, give the reference and take the view in the function
? 2
