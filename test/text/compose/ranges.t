# Evenly spaced numbers and diagonals.

== ranges, as numpy.arange and numpy.linspace have them
<<< ranges.vf
graph @ranges() {
  %a = arange stop=5
  %b = arange start=10 stop=-1 step=-3 dtype=i8
  %c = arange start=0.5 stop=2 step=0.5
  %d = arange stop=0
  %e = linspace start=0 stop=1 num=5
  %f = linspace start=-1 stop=0.1 num=4 dtype=f64
  %g = linspace start=3 stop=9 num=1
  %h = arange start=16777215 stop=16777218 dtype=f32
  return %a, %b, %c, %d, %e, %f, %g, %h
}
>>>
$ viewfold run ranges.vf
a: i64[5] = [0, 1, 2, 3, 4]
b: i8[4] = [10, 7, 4, 1]
c: f32[3] = [0.5, 1.0, 1.5]
d: i64[0] = []
e: f32[5] = [0.0, 0.25, 0.5, 0.75, 1.0]
f: f64[4] = [-1.0, -0.6333333333333333, -0.2666666666666666, 0.1]
g: f32[1] = [3.0]
h: f32[3] = [16777215.0, 16777216.0, 16777216.0]

== a range that ends at a symbolic size
<<< sized.vf
graph @sized(%x: f32[n=2..8:2]) {
  %r = arange start=1 stop=(n+4) step=3 dtype=f32
  %w = arange start=3 stop=n step=2
  %v = arange start=9 stop=n step=-2 dtype=i16
  return %r, %w, %v
}
>>>
$ viewfold run sized.vf --in x=[0,0]
r: f32[2] = [1.0, 4.0]
w: i64[0] = []
v: i16[4] = [9, 7, 5, 3]
$ viewfold run sized.vf --in x=[0,0,0,0,0,0,0,0]
r: f32[4] = [1.0, 4.0, 7.0, 10.0]
w: i64[3] = [3, 5, 7]
v: i16[1] = [9]

== diagonals and triangles
<<< eye.vf
graph @eye(%x: f32[2,2,3]) {
  %e = eye shape=2
  %o = eye shape=[2,3] diagonal=1 dtype=i32
  %l = tril %x
  %u = triu %x diagonal=1
  return %e, %o, %l, %u
}
>>>
$ viewfold run eye.vf --in x=[[[1,2,3],[4,5,6]],[[7,nan,9],[1,2,inf]]]
e: f32[2,2] = [[1.0, 0.0], [0.0, 1.0]]
o: i32[2,3] = [[0, 1, 0], [0, 0, 1]]
l: f32[2,2,3] = [[[1.0, 0.0, 0.0], [4.0, 5.0, 0.0]], [[7.0, 0.0, 0.0], [1.0, 2.0, 0.0]]]
u: f32[2,2,3] = [[[0.0, 2.0, 3.0], [0.0, 0.0, 6.0]], [[0.0, nan, 9.0], [0.0, 0.0, inf]]]
