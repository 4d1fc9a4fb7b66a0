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
<<< 15.vf
graph @g(%x: f32[4,3], %u: f32[3,4,2]) {
  %p = address %x
  %c = permute %p order=[1,0]
  %r = reshape %c shape=[3,4,1]
  %e = expand %r shape=[3,4,2]
  %y = assign %x, %e, %u
  return %y
}
>>>
<<< 16.vf
graph @g(%x: f32[4], %u: f32[1,4]) {
  %p = address %x
  %r = unsqueeze %p axis=0
  %e = expand %r shape=[3,4]
  %s = shrink %e bounds=[[0,1],[0,4]]
  %y = assign %x, %s, %u
  return %y
}
>>>
<<< 17.vf
graph @g(%x: f32[4], %u: f32[6]) {
  %p = address %x
  %e = pad %p pads=[[1,1]] mode=edge
  %y = assign %x, %e, %u
  return %y
}
>>>
<<< 18.vf
graph @g(%x: f32[4], %u: f32[6]) {
  %p = address %x
  %e = pad %p pads=[[2,0]] mode=wrap
  %y = assign %x, %e, %u
  return %y
}
>>>
<<< 19.vf
graph @g(%x: f32[2,4], %u: f32[2,5]) {
  %p = address %x
  %e = pad %p pads=[[0,0],[0,1]] mode=reflect
  %y = assign %x, %e, %u
  return %y
}
>>>
<<< 20.vf
graph @g(%x: f32[4], %u: f32[8]) {
  %p = address %x
  %e = concat %p, %p axis=0
  %y = assign %x, %e, %u
  return %y
}
>>>
<<< 21.vf
graph @g(%x: f32[4], %u: f32[2,4]) {
  %p = address %x
  %e = stack %p, %p axis=0
  %y = assign %x, %e, %u
  return %y
}
>>>
<<< 23.vf
graph @g(%x: f32[4], %u: f32[4]) {
  %y = assign %x, %x, %u
  return %y
}
>>>
<<< 24.vf
graph @g(%x: f32[4], %u: f32[4]) {
  %p = address %x
  %t = cast %p dtype=i32
  %y = assign %x, %t, %u
  return %y
}
>>>
<<< 25.vf
graph @g(%x: f32[4], %u: f32[4]) {
  %m = gt %x, 0
  %y = assign %x, %m, %u
  return %y
}
>>>
<<< 26.vf
graph @g(%x: f32[4], %u: f32[4]) {
  %p = address %x
  %m = gt %x, 0
  %t = where %m, %p, 0
  %y = assign %x, %t, %u
  return %y
}
>>>
<<< 27.vf
graph @g(%x: f32[4], %u: f32[4]) {
  %i = argsort %x axis=0
  %y = assign %x, %i, %u
  return %y
}
>>>
<<< 28.vf
graph @g(%x: f32[4], %u: f32[2]) {
  %s = shrink %x bounds=[[1,3]]
  %p = address %s
  %y = assign %x, %p, %u
  return %y
}
>>>
<<< 29.vf
graph @g(%x: f32[4,3], %u: f32[2,4,3]) {
  %p = address %x
  %y = assign %x, %p, %u
  return %y
}
>>>
<<< 30.vf
graph @g(%x: f32[4,3], %u: f32[2,4]) {
  %p = address %x
  %s = shrink %p bounds=[[0,2],[0,3]]
  %y = assign %x, %s, %u
  return %y
}
>>>
<<< 31.vf
graph @g(%x: f32[4,3], %u: f32[4,1]) {
  %p = address %x
  %s = permute %p order=[1,0]
  %y = assign %x, %s, %u
  return %y
}
>>>
<<< 32.vf
graph @g(%x: f32[4], %i: i64[3], %u: f32[4]) {
  %p = address %x
  %g = gather %p, %i
  %y = assign %x, %g, %u op=add
  return %y
}
>>>
<<< 33.vf
graph @g(%x: i32[4], %u: i64[4]) {
  %p = address %x
  %y = assign %x, %p, %u
  return %y
}
>>>
<<< 34.vf
graph @g(%x: i32[4], %u: f32[4]) {
  %p = address %x
  %y = assign %x, %p, %u
  return %y
}
>>>
<<< 35.vf
graph @g(%x: i32[4]) {
  %p = address %x
  %y = assign %x, %p, 0.5 op=add
  return %y
}
>>>
<<< 36.vf
graph @g(%x: bool[4], %u: u8[4]) {
  %p = address %x
  %y = assign %x, %p, %u
  return %y
}
>>>
<<< 37.vf
graph @g(%x: f16[4], %u: f32[4]) {
  %p = address %x
  %y = assign %x, %p, %u op=mul
  return %y
}
>>>
<<< 38.vf
graph @g(%x: f16[4], %u: bf16[4]) {
  %p = address %x
  %y = assign %x, %p, %u
  return %y
}
>>>
<<< 39.vf
graph @g(%x: bool[4], %u: bool[4]) {
  %p = address %x
  %y = assign %x, %p, %u op=mul
  return %y
}
>>>
<<< 40.vf
graph @g(%x: u8[4], %u: u8[4]) {
  %p = address %x
  %y = assign %x, %p, %u op=div
  return %y
}
>>>
<<< 41.vf
graph @g(%x: f64[4], %u: f64[4]) {
  %p = address %x
  %y = assign %x, %p, %u op=and
  return %y
}
>>>
<<< 42.vf
graph @g(%x: f32[4], %i: i64[2], %u: f32[2]) {
  %p = address %x
  %g = gather %p, %i
  %f = flip %g axes=[0]
  %y = assign %x, %f, %u op=min
  return %y
}
>>>
<<< 43.vf
graph @g(%x: i32[4], %i: i64[2], %u: i32[2]) {
  %p = address %x
  %g = gather %p, %i mode=clip
  %y = assign %x, %g, %u op=xor
  return %y
}
>>>
<<< 44.vf
graph @g(%x: f32[4]) {
  %p = address %x
  %y = assign %x, %p
  return %y
}
>>>
<<< 45.vf
graph @g(%x: f32[4]) {
  %p = address %x
  %y = assign %x, %p, 1, 2
  return %y
}
>>>
<<< 46.vf
graph @g(%x: f32[4]) {
  %p = address %x
  %y = assign %x, %p, 1 axis=0
  return %y
}
>>>
<<< 47.vf
graph @g(%x: f32[4]) {
  %p = address %x
  %y = assign %x, %p, 1 op=3
  return %y
}
>>>
<<< 48.vf
graph @g(%x: f32[4]) {
  %p = address %x shape=[4]
  %y = assign %x, %p, 1
  return %y
}
>>>
<<< 49.vf
graph @g(%x: f32[4]) {
  %p = address %x
  %s = shrink %p bounds=[[2,6]]
  %y = assign %x, %s, 1
  return %y
}
>>>
<<< 50.vf
graph @g(%x: f32[4]) {
  %p = address %x
  %s = point %p index=4 axis=0
  %y = assign %x, %s, 1
  return %y
}
>>>
<<< r4.vf
graph @g(%a: ref f32[4], %u: f32[3]) {
  %a = %u
  return
}
>>>
<<< r5.vf
graph @g(%a: ref f32[4], %u: f32[]) {
  %a = %u
  return
}
>>>
<<< r6.vf
graph @g(%a: ref f32[4]) {
  %a = gt %a, 0
  return
}
>>>
<<< r7.vf
graph @g(%a: ref f32[4], %a: ref f32[4]) {
  %a = neg %a
  return
}
>>>
<<< r8.vf
graph @g(%a: ref f32[4]) {
  return %a
}
>>>
<<< r9.vf
graph @g(%a: ref f32[4]) {
  %b = neg %c
  %a = %b
  return
}
>>>
<<< r10.vf
graph @g(%a: ref) {
  %a = neg %a
  return
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
! 3.vf:2:3: error: assign: the target i64[4] is made by input; a target is a chain of views of the positions of x: address %x, then views of that; by indices, elements are named with gather %positions, %indices
? 2

== positions that were computed with
$ viewfold dump --stage=graph 4.vf
! 4.vf:4:3: error: assign: the target i64[4] is made by add; a target is a chain of views of the positions of x: address %x, then views of that; by indices, elements are named with gather %positions, %indices
? 2

== positions of another array
$ viewfold dump --stage=graph 5.vf
! 5.vf:3:3: error: assign: the target counts 6 positions; x has shape f32[4], 4 elements; begin with address %x, of x itself
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
! 11.vf:4:3: error: assign: the target gathers, and may name an element of x, of shape f32[4], several times; op=mul takes a target without a gather; through one, op is set, add or sub
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
! r2.vf:3:9: error: nothing to return, found the end of the line, expected a result, or a new version of a reference above
? 2

== a name that is no reference
$ viewfold dump --stage=graph r3.vf
! r3.vf:2:3: error: name defined twice, found '%a', expected a new name; a parameter that is written is a reference, as in %x: ref f32[2]
? 2

== a function that writes a reference, called with a value
$ viewfold dump --stage=graph called.vf
! called.vf:6:17: error: a function writes operand 2, found '%x', expected a reference, a parameter of this graph as in '%a: ref f32[4]'; for a part of one, give the reference and take the view in the function
? 2

== expanded behind other views
$ viewfold dump --stage=graph 15.vf
! 15.vf:6:3: error: assign: the target expands [3,4,1] to [3,4,2], so that [0,0,0] and [0,0,1] of it name one element; a target names each element once: write to the view without the expand, to which a value broadcasts
? 2

== expanded before a shrink that leaves one
$ viewfold dump --stage=graph 16.vf
! 16.vf:6:3: error: assign: the target expands [1,4] to [3,4], so that [0,0] and [1,0] of it name one element; a target names each element once: write to the view without the expand, to which a value broadcasts
? 2

== padding that repeats the edge
$ viewfold dump --stage=graph 17.vf
! 17.vf:4:3: error: assign: the target pads [4] with mode=edge to [6], so that [0] and [1] of it name one element; a target names each element once: pad with mode=constant, whose padding is dropped
? 2

== padding that wraps, before
$ viewfold dump --stage=graph 18.vf
! 18.vf:4:3: error: assign: the target pads [4] with mode=wrap to [6], so that [1] and [5] of it name one element; a target names each element once: pad with mode=constant, whose padding is dropped
? 2

== padding that reflects, of the second axis
$ viewfold dump --stage=graph 19.vf
! 19.vf:4:3: error: assign: the target pads [2,4] with mode=reflect to [2,5], so that [0,4] and [0,2] of it name one element; a target names each element once: pad with mode=constant, whose padding is dropped
? 2

== positions concatenated
$ viewfold dump --stage=graph 20.vf
! 20.vf:4:3: error: assign: the target i64[8] is made by concat; a target is a chain of views of the positions of x: address %x, then views of that; by indices, elements are named with gather %positions, %indices
? 2

== positions stacked
$ viewfold dump --stage=graph 21.vf
! 21.vf:4:3: error: assign: the target i64[2,4] is made by stack; a target is a chain of views of the positions of x: address %x, then views of that; by indices, elements are named with gather %positions, %indices
? 2

== the array itself as its target
$ viewfold dump --stage=graph 23.vf
! 23.vf:2:3: error: assign: the target f32[4] is made by input; a target is a chain of views of the positions of x: address %x, then views of that
? 2

== positions in another dtype
$ viewfold dump --stage=graph 24.vf
! 24.vf:4:3: error: assign: the target i32[4] is made by cast; a target is a chain of views of the positions of x: address %x, then views of that; by indices, elements are named with gather %positions, %indices
? 2

== a mask as a target
$ viewfold dump --stage=graph 25.vf
! 25.vf:3:3: error: assign: the target bool[4] is made by gt; a target is a chain of views of the positions of x: address %x, then views of that; by a mask, elements are replaced with where %mask, %u, %x
? 2

== chosen positions
$ viewfold dump --stage=graph 26.vf
! 26.vf:5:3: error: assign: the target i64[4] is made by where; a target is a chain of views of the positions of x: address %x, then views of that; by indices, elements are named with gather %positions, %indices
? 2

== sorted positions
$ viewfold dump --stage=graph 27.vf
! 27.vf:3:3: error: assign: the target i64[4] is made by argsort; a target is a chain of views of the positions of x: address %x, then views of that; by indices, elements are named with gather %positions, %indices
? 2

== positions of a view of the array
$ viewfold dump --stage=graph 28.vf
! 28.vf:4:3: error: assign: the target counts 2 positions; x has shape f32[4], 4 elements; begin with address %x, of x itself
? 2

== a value of higher rank
$ viewfold dump --stage=graph 29.vf
! 29.vf:3:3: error: assign: the update has shape f32[2,4,3]; x has shape f32[4,3], of which [4,3] is replaced; an update broadcasts to that
? 2

== a value of another size than the view
$ viewfold dump --stage=graph 30.vf
! 30.vf:4:3: error: assign: the update has shape f32[2,4]; x has shape f32[4,3], of which [2,3] is replaced; an update broadcasts to that
? 2

== a column for a permuted view
$ viewfold dump --stage=graph 31.vf
! 31.vf:4:3: error: assign: the update has shape f32[4,1]; x has shape f32[4,3], of which [3,4] is replaced; an update broadcasts to that
? 2

== a value for a gathered view
$ viewfold dump --stage=graph 32.vf
! 32.vf:4:3: error: assign: the update has shape f32[4]; x has shape f32[4], of which [3] is replaced; an update broadcasts to that
? 2

== i64 into i32
$ viewfold dump --stage=graph 33.vf
! 33.vf:3:3: error: assign: the update has shape i64[4]; x has shape i32[4], and keeps its dtype; cast the update to i32
? 2

== floats into integers
$ viewfold dump --stage=graph 34.vf
! 34.vf:3:3: error: assign: the update has shape f32[4]; x has shape i32[4], and keeps its dtype; cast the update to i32
? 2

== a fraction into integers
$ viewfold dump --stage=graph 35.vf
! 35.vf:3:3: error: assign: the update has shape f64[]; x has shape i32[4], and keeps its dtype; cast the update to i32
? 2

== integers into truth values
$ viewfold dump --stage=graph 36.vf
! 36.vf:3:3: error: assign: the update has shape u8[4]; x has shape bool[4], and keeps its dtype; cast the update to bool
? 2

== f32 into f16
$ viewfold dump --stage=graph 37.vf
! 37.vf:3:3: error: assign: the update has shape f32[4]; x has shape f16[4], and keeps its dtype; cast the update to f16
? 2

== bf16 into f16
$ viewfold dump --stage=graph 38.vf
! 38.vf:3:3: error: assign: the update has shape bf16[4]; x has shape f16[4], and keeps its dtype; cast the update to f16
? 2

== products of truth values
$ viewfold dump --stage=graph 39.vf
! 39.vf:3:3: error: assign: x has shape bool[4]; op=mul takes numbers
? 2

== quotients of u8
$ viewfold dump --stage=graph 40.vf
! 40.vf:3:3: error: assign: x has shape u8[4]; op=div takes floats, since a quotient is a float
? 2

== bits of f64
$ viewfold dump --stage=graph 41.vf
! 41.vf:3:3: error: assign: x has shape f64[4]; op=and takes integers or truth values
? 2

== the smallest through a gather
$ viewfold dump --stage=graph 42.vf
! 42.vf:5:3: error: assign: the target gathers, and may name an element of x, of shape f32[4], several times; op=min takes a target without a gather; through one, op is set, add or sub
? 2

== bits through a gather
$ viewfold dump --stage=graph 43.vf
! 43.vf:4:3: error: assign: the target gathers, and may name an element of x, of shape i32[4], several times; op=xor takes a target without a gather; through one, op is set, add or sub
? 2

== no value
$ viewfold dump --stage=graph 44.vf
! 44.vf:3:3: error: assign: 2 operands given; takes 3: x, target, update; `viewfold ops assign` shows how
? 2

== too many values
$ viewfold dump --stage=graph 45.vf
! 45.vf:3:3: error: assign: 4 operands given; takes 3: x, target, update; attributes: op; `viewfold ops assign` shows how
? 2

== an attribute of another operation
$ viewfold dump --stage=graph 46.vf
! 46.vf:3:3: error: assign: there is no attribute axis; attributes: op
? 2

== an operation that is no word
$ viewfold dump --stage=graph 47.vf
! 47.vf:3:3: error: assign: attribute op is 3; it is one of set add sub mul div min max and or xor
? 2

== an address of an array and a shape
$ viewfold dump --stage=graph 48.vf
! 48.vf:2:3: error: address: takes either an operand, whose positions it gives, or a shape
? 2

== a view outside of the array
$ viewfold dump --stage=graph 49.vf
! 49.vf:3:3: error: shrink: bounds [2,6] do not fit axis 0; x has shape i64[4]; takes 0 <= begin <= end <= 4
? 2

== a point outside of the array
$ viewfold dump --stage=graph 50.vf
! 50.vf:3:3: error: point: index 4 is outside axis 0; x has shape i64[4]; takes -4 <= index < 4
? 2

== a reference of another size
$ viewfold dump --stage=graph r4.vf
! r4.vf:2:3: error: a version of the reference '%a' of another type, found f32[3], expected f32[4]
? 2

== a reference given a scalar
$ viewfold dump --stage=graph r5.vf
! r5.vf:2:3: error: a version of the reference '%a' of another type, found f32[], expected f32[4]
? 2

== a reference given truth values
$ viewfold dump --stage=graph r6.vf
! r6.vf:2:3: error: a version of the reference '%a' of another type, found bool[4], expected f32[4]
? 2

== two references of one name
$ viewfold dump --stage=graph r7.vf
! r7.vf:1:26: error: name defined twice, found '%a', expected a new name
? 2

== a reference among results, unwritten
$ viewfold dump --stage=graph r8.vf
! r8.vf:2:10: error: a reference is a result by itself, found '%a', expected a value, or nothing
? 2

== a later version by its own name
$ viewfold dump --stage=graph r9.vf
! r9.vf:2:12: error: unknown value, found '%c', expected a parameter or the result of a statement above
? 2

== a reference without a type
$ viewfold dump --stage=graph r10.vf
! r10.vf:1:17: error: unknown dtype, found ')', expected a type as in f32[2,3], of one of bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64
? 2
