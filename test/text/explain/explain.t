# viewfold explain: why kernels are what they are, and what is left in their loops.

<<< rows.vf
graph @rows(%x: f32[64,128], %y: f32[128,64]) {
  %t = permute %y order=[1,0]
  %p = pad %x pads=[[1,1],[0,0]]
  %a = shrink %p bounds=[[0,64],[0,128]]
  %s = add %a, %t
  %m = sum %s axes=[1] keepdims=true
  %e = expand %m shape=[64,128]
  %h = mul %s, %e
  return %h
}
graph @other(%x: f32[4]) {
  %y = neg %x
  return %y
}
>>>

== kernels, reasons, work, loops
$ viewfold explain --graph rows --target 'vector_bytes=64' rows.vf
graph @rows: 2 kernels, 1 temporary
\
kernel 0 -> temporary 0 f32[64]
  fuses   permute pad shrink add sum
  reads   %y f32[128,64], in 1 place
  reads   %x f32[64,128], in 1 place
  threads share a loop of [..]
  why     stored and not fused: sum would be computed again for each position that repeats it
  moves   65536 bytes to read, 256 to write; 16384 operations
  loops   [..]16 vector[..]
  divides nowhere
  tests   a load of p2 where [..]
\
kernel 1 -> %h f32[64,128]
[...]
  why     a kernel of its own, because it is a result
  apart   it is cut where its masks end, in loops of its own
  moves   65792 bytes to read, 32768 to write; 16384 operations
[...]

== every graph of a file
$ viewfold explain rows.vf | grep graph
graph @rows: 2 kernels, 1 temporary
graph @other: 1 kernel, 0 temporaries

== a chain
$ viewfold explain 'f32[3,2].permute(1,0)' | grep -E 'why|moves|divides|tests'
  why     a kernel of its own, because it is a result
  moves   24 bytes to read, 24 to write; 0 operations
  divides nowhere
  tests   nothing: no mask is left

== wrong input
$ viewfold explain
! viewfold explain: no file given; for example: viewfold explain blur.vf
! Try 'viewfold explain --help'.
? 2
$ viewfold explain --graph none rows.vf
! [..]
! Try 'viewfold explain --help'.
? 2

== the condition of a loop is a result, too
<<< loop.vf
graph @less(%i: i32[]) {
  %p = lt %i, 5
  return %p
}
graph @next(%i: i32[]) {
  %j = add %i, 1
  return %j
}
graph @loop(%i: i32[]) {
  %j = while_loop %i while=@less do=@next
  return %j
}
>>>
$ viewfold explain loop.vf | grep -E 'fuses|why'
      fuses   lt
      why     a kernel of its own, because it is a result of its function
      fuses   add
      why     a kernel of its own, because it is a result of its function
