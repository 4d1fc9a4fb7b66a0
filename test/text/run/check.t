# `viewfold run --check`: results against the reference evaluator.

== integers, copies and elementwise float operations have the same bits
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

== four integers cast to bytes, of which a mask keeps two
<<< g.vf
graph @g(%x: i64[2,4]) {
  %b = cast %x dtype=u8
  %i = iota shape=[2,4] axis=1 dtype=i64
  %h = and %i, 2
  %k = eq %h, 0
  %y = where %k, %b, 0
  return %y
}
>>>
$ viewfold run g.vf --in x=[[1,2,3,4],[257,258,259,260]] --check
y: u8[2,4] = [[1, 2, 0, 0], [1, 2, 0, 0]]
check y: 8 elements, bit-equal

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
s: f32[] = -0.012909472
b: bool[] = false
check s: 1 of 1 element differs, by at most 1.4e-07, allowed 0.00485
check b: 1 element, bit-equal

== check: reductions inside functions
<<< rows.vf
graph @row(%s: f32[], %x: f32[5]) {
  %v = sum %x
  %n = add %s, %v
  return %n, %v
}
graph @rows(%xs: f32[4,5]) {
  %last, %sums = scan 0.0, %xs do=@row carries=1 sliced=1
  return %last, %sums
}
>>>
$ viewfold run rows.vf --in xs=[[0.1,0.7,0.3,0.9,1.3],[0.11,0.72,0.35,1.9,0.3],[3.1,0.17,0.33,0.9,0.7],[0.1,1.7,0.13,0.39,0.93]] --check
last: f32[] = 15.129999
sums: f32[4] = [3.3, 3.3799999, 5.2, 3.25]
check last: 1 of 1 element differs, by at most 9.54e-07, allowed 0.0037
check sums: 1 of 4 elements differs, by at most 2.38e-07, allowed 0.00127

== selections at zero keep its sign: compilers recognise them as maxima, which need not
<<< g.vf
graph @g(%x: f32[16], %y: f64[4]) {
  %m = mul %x, 3.0
  %s = add %x, %m
  %d = sub %x, %m
  %l = lt %x, 0.0
  %g = gt %x, 0.0
  %k = le 0.0, %x
  %0 = where %l, -0.0, %x
  %1 = where %g, 0.0, %x
  %2 = where %g, -0.0, %x
  %3 = where %k, %x, -0.0
  %4 = where %l, %m, %s
  %5 = where %l, %m, %d
  %6 = max %x, -0.0
  %7 = min %x, 0.0
  %n = gt 0.0, %y
  %8 = where %n, -0.0, %y
  return %0, %1, %2, %3, %4, %5, %6, %7, %8
}
graph @x() {
  %i = iota shape=[16] dtype=i32
  %j = and %i, 3
  %c = eq %j, 0
  %d = eq %j, 1
  %e = eq %j, 2
  %f = where %c, 0.0, -0.0
  %g = where %d, 1e-45, %f
  %x = where %e, -1e-45, %g
  return %x
}
>>>
$ viewfold run g.vf --graph x --out x=x.npy
$ viewfold run g.vf --graph g --in x=x.npy --in y=[0,-0.0,1,-1] --check | grep check
check 0: 16 elements, bit-equal
check 1: 16 elements, bit-equal
check 2: 16 elements, bit-equal
check 3: 16 elements, bit-equal
check 4: 16 elements, bit-equal
check 5: 16 elements, bit-equal
check 6: 16 elements, bit-equal
check 7: 16 elements, bit-equal
check 8: 4 elements, bit-equal

== one element's bool in every lane of a mask
<<< g.vf
graph @g(%x: f32[7], %y: i64[7]) {
  %c = cast %y dtype=f32
  %e = eq %x, %c
  %f = flip %e axes=[0]
  %m = cummin %f axis=0
  return %m
}
>>>
$ viewfold run g.vf --in x=[1,2,3,4,5,6,7] --in y=[1,0,0,4,5,6,7] --check
m: bool[7] = [true, true, true, true, false, false, false]
check m: 7 elements, bit-equal

== recurrences and differences that amplify what is rounded are allowed what neighbours of their inputs change
<<< amplified.vf
graph @step(%h: f32[8,128], %w: f32[128,128]) {
  %p = matmul %h, %w
  %t = tanh %p
  return %t, %t
}
graph @amplified(%h: f32[8,128], %w: f32[128,128]) {
  %y, %k = scan %h, %w do=@step carries=1 sliced=0 length=64
  return %y
}
>>>
$ viewfold check amplified.vf | sed 's/[0-9.]\+/N/g'
check y: N of N elements differ, by at most N, allowed N; N change by more, by at most N, where inputs or reductions are rounded otherwise
<<< cancelled.vf
graph @cancelled(%x: f32[37,1]) {
  %e = expand %x shape=[37,129]
  %m = mean %e axes=[1] keepdims=true
  %d = sub %e, %m
  return %d
}
>>>
$ viewfold check cancelled.vf | sed 's/ [0-9][0-9.e-]*/ N/g'
check d: N of N elements differ, by at most N, allowed N; N change by more, by at most N, where inputs or reductions are rounded otherwise
