# `viewfold check`: compiled results and those of the reference evaluator.
<<< two.vf
graph @f(%x: f32[4,6]) {
  %t = permute %x order=[1,0]
  %y = exp %t
  return %y
}
graph @g(%i: i32[5], %x: f32[7]) {
  %y = take %x, %i axis=0
  %n = sum %i
  return %y, %n
}
>>>

== each result of each graph
$ viewfold check two.vf
check y: 24 elements, bit-equal
check y: 5 elements, bit-equal
check n: 1 element, bit-equal

== one graph, of a given size
$ viewfold check 'f32[n=1..9]' --size n=3
check y: 3 elements, bit-equal
$ viewfold check two.vf --graph f
check y: 24 elements, bit-equal

== what cannot be checked
$ viewfold check
! viewfold check: no file given; for example: viewfold check blur.vf
! Try 'viewfold check --help'.
? 2
$ viewfold check two.vf --in x=[1]
! [..]
? 2
