# `viewfold run --check`: results against the reference evaluator.

== integers, moves and elementwise floats have the same bits
<<< g.vf
graph @g(%x: f32[4], %i: i32[4]) {
  %e = exp %x
  %s = sum %i
  %t = flip %x axes=[0]
  return %e, %s, %t
}
>>>
$ viewfold run g.vf --in x=[0.1,-3.5,nan,100] --in i=[1,2,3,2147483647] --check
e: f32[4] = [1.105171, 0.030197384, nan, inf]
s: i32[] = -2147483643
t: f32[4] = [100.0, nan, -3.5, 0.1]
check e: 4 elements, bit-equal
check s: 1 element, bit-equal
check t: 4 elements, bit-equal

== sums of floats are within a tolerance
<<< g.vf
graph @g(%x: f32[1000]) {
  %y = sin %x
  %s = sum %y
  %b = gt %s, 0.0
  return %s, %b
}
graph @x() {
  %x = iota shape=[1000] dtype=f32
  return %x
}
>>>
$ viewfold run g.vf --graph x --out x=x.npy
$ viewfold run g.vf --graph g --in x=x.npy --check
s: f32[] = -0.012909055
b: bool[] = false
check s: 1 of 1 element differs, by at most 6.91e-07, allowed 0.00485
check b: 1 element, bit-equal
