# What explain says of references: versions, which views meet and which do not, what was ordered and saved for that.
<<< rows.vf
graph @rows(%a: ref f32[4,3], %u: f32[3]) {
  %p = address %a
  %row = point %p index=1 axis=0
  %old = point %a index=1 axis=0
  %next = point %a index=2 axis=0
  %b = assign %a, %row, %u op=add
  %seen = sum %b axes=[0]
  %late = mul %old, %next
  %a = %b
  return %seen, %late
}
>>>
<<< columns.vf
graph @columns(%a: ref f32[6,8], %u: f32[6]) {
  %p = address %a
  %even = stride %p steps=[1,2]
  %odd0 = shrink %p bounds=[[0,6],[1,8]]
  %odd = stride %odd0 steps=[1,2]
  %a = assign %a, %even, 1 op=add
  %a = assign %a, %odd, 2 op=add
  %top = shrink %p bounds=[[0,3],[0,8]]
  %tail = shrink %a bounds=[[3,6],[0,8]]
  %a = assign %a, %top, %tail
  return
}
>>>
<<< shift.vf
graph @shift(%a: ref f32[6,8]) {
  %p = address %a
  %to = shrink %p bounds=[[1,6],[0,8]]
  %from = shrink %a bounds=[[0,5],[0,8]]
  %a = assign %a, %to, %from
  return
}
>>>
<<< square.vf
graph @square(%a: ref f32[6,6]) {
  %p = address %a
  %t = permute %a order=[1,0]
  %a = assign %a, %p, %t
  return
}
>>>
<<< both.vf
graph @both(%a: ref f32[4]) {
  %p = address %a
  %b = assign %a, %p, 3
  %y = sub %a, %b
  %a = %b
  return %y
}
>>>
<<< at.vf
graph @at(%a: ref f32[16,8], %k: i64[], %u: f32[8]) {
  %p = address %a
  %d = index_point %k
  %row = create_view %p, %d
  %a = assign %a, %row, %u op=mul
  return
}
>>>
<<< none.vf
graph @none(%x: f32[4], %u: f32[4]) {
  %p = address %x
  %y = assign %x, %p, %u
  return %y
}
>>>

== readers of an older version come first
$ viewfold explain --no-run rows.vf | sed -n '/^reference/,/^$/p'
reference %a f32[4,3], changed in place
  reads   kernel 0: version 0 at (ridx0+6), elements 6 to 8
  reads   kernel 0: version 0 at (ridx0+3), elements 3 to 5
  reads   kernel 1: version 0 at (ridx0+3), elements 3 to 5
  writes  kernel 1: version 1 at (ridx0+3), elements 3 to 5
  reads   kernel 2: version 1 at (ridx0+(ridx1*3)), elements 0 to 11
  order   kernel 0 before kernel 1, which replaces what it reads; it was put there
  order   kernel 1 before kernel 2, which reads what it writes
  order   kernel 1 reads each element before it replaces it
\

== writes that never meet
$ viewfold explain --no-run columns.vf | sed -n '/^reference/,/^$/p'
reference %a f32[6,8], changed in place
  reads   kernel 0: version 0 at ((ridx0*8)+(ridx1*2)), elements 0 to 46
  writes  kernel 0: version 1 at ((ridx0*8)+(ridx1*2)), elements 0 to 46
  reads   kernel 1: version 1 at (((ridx0*8)+(ridx1*2))+1), elements 1 to 47
  writes  kernel 1: version 2 at (((ridx0*8)+(ridx1*2))+1), elements 1 to 47
  reads   kernel 2: version 2 at (((ridx0*8)+ridx1)+24), elements 24 to 47
  writes  kernel 2: version 3 at ((ridx0*8)+ridx1), elements 0 to 23
  apart   kernels 0 and 1: their elements leave other remainders, divided by 2
  order   kernel 0 before kernel 2, which writes some of the same elements
  order   kernel 1 before kernel 2, which writes some of the same elements
  order   kernel 0 reads each element before it replaces it
  order   kernel 1 reads each element before it replaces it
  apart   kernel 2 reads elements that it does not replace
\

== loops in the order in which elements are read before they are replaced
$ viewfold explain --no-run shift.vf | sed -n '/^reference/,/^$/p'
reference %a f32[6,8], changed in place
  reads   kernel 0: version 0 at (((ridx0*-8)+ridx1)+32), elements 0 to 39
  writes  kernel 0: version 1 at (((ridx0*-8)+ridx1)+40), elements 8 to 47
  order   kernel 0 reads each element before it replaces it, in the order of ridx0 downwards
\

== what no order of loops settles is saved
$ viewfold explain --no-run square.vf | sed -n '/^reference/,/^$/p'
reference %a f32[6,6], changed in place
  reads   kernel 0: version 0 at (ridx0+(ridx1*6)), elements 0 to 35
  writes  kernel 1: version 1 at ((ridx0*6)+ridx1), elements 0 to 35
  order   kernel 0 before kernel 1, which replaces what it reads
  saved   144 bytes by kernel 0, which kernel 1 needs of what it replaces
\

== a version of its own
$ viewfold explain --no-run both.vf | sed -n '/^reference/,/^$/p'
reference %a f32[4]
  reads   kernel 0: version 0 at ridx0, elements 0 to 3
  reads   kernel 2: version 0 at ridx0, elements 0 to 3
  copied  all of it: the newest version is computed in memory of its own
  copied  since kernel 2 still reads version 0
\

== a position of the run
$ viewfold explain --no-run at.vf | sed -n '/^reference/,/^$/p'
reference %a f32[16,8], changed in place
  reads   kernel 1: version 0 at (ridx0+(bound(load(p1, 0, True, i64(0), ahead=0), 16, True, mode=clip)*8)), elements 0 to 127
  writes  kernel 1: version 1 at (ridx0+(bound(load(p1, 0, True, i64(0), ahead=0), 16, True, mode=clip)*8)), elements 0 to 127
  order   kernel 1 reads each element before it replaces it
\

== nothing of graphs without references
$ viewfold explain --no-run none.vf | grep -c '^reference'
0
? 1

== what a loop writes
<<< loop.vf
graph @put(%a: ref f32[64,3], %u: f32[3]) {
  %p = address %a
  %row = point %p index=1 axis=0
  %a = assign %a, %row, %u op=add
  return
}
graph @loop(%a: ref f32[64,3], %us: f32[9,3]) {
  %old = sum %a
  scan %a, %us do=@put
  return %old
}
>>>
$ viewfold explain --no-run loop.vf | sed -n '/^reference/,/^$/p' | grep .
reference %a f32[64,3], changed in place
  reads   kernel 0: version 0 at ((ridx0*3)+ridx1), elements 0 to 191
  reads   kernel 1: version 0 at (ridx0+3), elements 3 to 5, in each round of a loop
  writes  kernel 1: version 1 at (ridx0+3), elements 3 to 5, in each round of a loop
  order   kernel 0 before kernel 1, which replaces what it reads
  order   kernel 1 reads each element before it replaces it
