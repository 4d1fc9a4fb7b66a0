# Writes that are refused, each with its whole message.
<<< 0.vf
graph @g(%x: f32[1,4], %u: f32[3,4]) {
  %p = address %x
  %e = expand %p shape=[3,4]
  %y = assign %x, %e, %u
  return %y
}
>>>
<<< 1.vf
graph @g(%x: f32[4], %u: f32[6]) {
  %p = address %x
  %e = pad %p pads=[[2,0]] mode=reflect
  %y = assign %x, %e, %u
  return %y
}
>>>
<<< 2.vf
graph @g(%x: f32[2,4], %u: f32[2,6]) {
  %p = address %x
  %e = pad %p pads=[[0,0],[0,2]] mode=wrap
  %y = assign %x, %e, %u
  return %y
}
>>>
<<< 3.vf
graph @g(%x: f32[4], %t: i64[4], %u: f32[4]) {
  %y = assign %x, %t, %u
  return %y
}
>>>
<<< 4.vf
graph @g(%x: f32[4], %u: f32[4]) {
  %p = address %x
  %t = add %p, 1
  %y = assign %x, %t, %u
  return %y
}
>>>
<<< 5.vf
graph @g(%x: f32[4], %u: f32[2,3]) {
  %p = address %u
  %y = assign %x, %p, %u
  return %y
}
>>>
<<< 6.vf
graph @g(%x: f32[4,3], %u: f32[4]) {
  %p = address %x
  %y = assign %x, %p, %u
  return %y
}
>>>
<<< 7.vf
graph @g(%x: f32[4], %u: f64[4]) {
  %p = address %x
  %y = assign %x, %p, %u
  return %y
}
>>>
<<< 8.vf
graph @g(%x: i32[4], %u: i32[4]) {
  %p = address %x
  %y = assign %x, %p, %u op=div
  return %y
}
>>>
<<< 9.vf
graph @g(%x: bool[4], %u: bool[4]) {
  %p = address %x
  %y = assign %x, %p, %u op=add
  return %y
}
>>>
<<< 10.vf
graph @g(%x: f32[4], %u: f32[4]) {
  %p = address %x
  %y = assign %x, %p, %u op=xor
  return %y
}
>>>
<<< 11.vf
graph @g(%x: f32[4], %i: i64[2], %u: f32[2]) {
  %p = address %x
  %g = gather %p, %i
  %y = assign %x, %g, %u op=mul
  return %y
}
>>>
<<< 12.vf
graph @g(%x: f32[4], %i: i64[2], %u: f32[2]) {
  %p = address %x
  %g = gather %p, %i mode=fill
  %y = assign %x, %g, %u
  return %y
}
>>>
<<< 13.vf
graph @g(%x: f32[4]) {
  %p = address %x
  %y = assign %x, %p, 1 op=swap
  return %y
}
>>>
<<< 14.vf
graph @g(%x: f32[4]) {
  %y = address
  return %y
}
>>>
<<< r0.vf
graph @g(%a: ref f32[4], %u: f64[4]) {
  %a = %u
  return
}
>>>
<<< r1.vf
graph @g(%a: ref f32[4]) {
  %a = neg %a
  return %a
}
>>>
<<< r2.vf
graph @g(%a: ref f32[4]) {
  %b = neg %a
  return
}
>>>
<<< r3.vf
graph @g(%a: f32[4]) {
  %a = neg %a
  return %a
}
>>>
<<< called.vf
graph @f(%a: ref f32[4]) {
  %a = neg %a
  return
}
graph @g(%p: bool[], %x: f32[4]) {
  %y = cond %p, %x then=@f else=@f
  return %y
}
>>>

== an expanded axis
$ viewfold dump --stage=graph 0.vf
! 0.vf:4:3: error: assign: the target expands [1,4] to [3,4], so that [0,0] and [1,0] of it name one element; a target names each element once: write to the view without the expand, to which a value broadcasts
? 2

== padding that repeats elements, before
$ viewfold dump --stage=graph 1.vf
! 1.vf:4:3: error: assign: the target pads [4] with mode=reflect to [6], so that [1] and [3] of it name one element; a target names each element once: pad with mode=constant, whose padding is dropped
? 2

== padding that repeats elements, behind
$ viewfold dump --stage=graph 2.vf
! 2.vf:4:3: error: assign: the target pads [2,4] with mode=wrap to [2,6], so that [0,4] and [0,0] of it name one element; a target names each element once: pad with mode=constant, whose padding is dropped
? 2

== a target that is no chain of views
$ viewfold dump --stage=graph 3.vf
! 3.vf:2:3: error: assign: the target i64[4] is made by input; a target is a chain of views of the positions of x: address %x, then views of that
? 2

== positions that were computed with
$ viewfold dump --stage=graph 4.vf
! 4.vf:4:3: error: assign: the target i64[4] is made by add; a target is a chain of views of the positions of x: address %x, then views of that
? 2

== positions of another array
$ viewfold dump --stage=graph 5.vf
! 5.vf:3:3: error: assign: the target counts 6 positions; x has shape f32[4], 4 elements; they are as many
? 2

== a value that does not broadcast
$ viewfold dump --stage=graph 6.vf
! 6.vf:3:3: error: assign: the update has shape f32[4]; x has shape f32[4,3], of which [4,3] is replaced; an update broadcasts to that
? 2

== a dtype that x does not hold
$ viewfold dump --stage=graph 7.vf
! 7.vf:3:3: error: assign: the update has shape f64[4]; x has shape f32[4], and keeps its dtype; cast the update to f32
? 2

== a quotient of integers
$ viewfold dump --stage=graph 8.vf
! 8.vf:3:3: error: assign: x has shape i32[4]; op=div takes floats, since a quotient is a float
? 2

== a sum of truth values
$ viewfold dump --stage=graph 9.vf
! 9.vf:3:3: error: assign: x has shape bool[4]; op=add takes numbers
? 2

== bits of floats
$ viewfold dump --stage=graph 10.vf
! 10.vf:3:3: error: assign: x has shape f32[4]; op=xor takes integers or truth values
? 2

== products through a gather
$ viewfold dump --stage=graph 11.vf
! 11.vf:4:3: error: assign: the target gathers, and may name an element of x, of shape f32[4], several times; op=mul takes a target without a gather, only set, add and sub any
? 2

== a gather that fills
$ viewfold dump --stage=graph 12.vf
! 12.vf:4:3: error: assign: the target gathers with mode=fill; positions of a target are checked or clipped: use mode=check or mode=clip
? 2

== an unknown operation
$ viewfold dump --stage=graph 13.vf
! 13.vf:3:3: error: assign: attribute op is swap; it is one of set add sub mul div min max and or xor
? 2

== an address of nothing
$ viewfold dump --stage=graph 14.vf
! 14.vf:2:3: error: address: takes either an operand, whose positions it gives, or a shape
? 2

== a version of another type
$ viewfold dump --stage=graph r0.vf
! r0.vf:2:3: error: a version of the reference '%a' of another type, found f64[4], expected f32[4]
? 2

== a reference among the results
$ viewfold dump --stage=graph r1.vf
! r1.vf:3:10: error: a reference is a result by itself, found '%a', expected a value, or nothing
? 2

== no results at all
$ viewfold dump --stage=graph r2.vf
! r2.vf:3:9: error: bad operand, found the end of the line, expected %NAME, a number, true, false or an index expression in parentheses
? 2

== a name that is no reference
$ viewfold dump --stage=graph r3.vf
! r3.vf:2:3: error: name defined twice, found '%a', expected a new name
? 2

== a function with references
$ viewfold dump --stage=graph called.vf
! called.vf:6:25: error: a graph with references is no function, found '@f' with '%a: ref', expected a graph whose parameters are values; pass the value and return the next one
? 2
