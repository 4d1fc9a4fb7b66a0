# Operations with several results.
<<< parts.vf
graph @parts(%x: i32[2,4], %i: i32[7]) {
  %a, %b = split %x parts=2 axis=1
  %c, %d, %e = chunk %i chunks=3
  %u, %v = unbind %x
  %lo, %hi = minmax %x
  %l, %h = minmax %x axes=[0] keepdims=true
  return %a, %b, %c, %d, %e, %u, %v, %lo, %hi, %l, %h
}
>>>

== split, chunk, unbind and minmax
$ viewfold run parts.vf --in x=[[1,2,3,4],[8,7,6,5]] --in i=[1,2,3,4,5,6,7]
a: i32[2,2] = [[1, 2], [8, 7]]
b: i32[2,2] = [[3, 4], [6, 5]]
c: i32[3] = [1, 2, 3]
d: i32[2] = [4, 5]
e: i32[2] = [6, 7]
u: i32[4] = [1, 2, 3, 4]
v: i32[4] = [8, 7, 6, 5]
lo: i32[] = 1
hi: i32[] = 8
l: i32[1,4] = [[1, 2, 3, 4]]
h: i32[1,4] = [[8, 7, 6, 5]]

== views are recorded
$ viewfold dump --stage=graph parts.vf | head -4
graph @parts(%x: i32[2,4], %i: i32[7]) {
  %a = shrink %x bounds=[[0,2],[0,2]] : i32[2,2]
  %b = shrink %x bounds=[[0,2],[2,4]] : i32[2,2]
  %c = shrink %i bounds=[[0,3]] : i32[3]

== a symbolic size
<<< sized.vf
graph @sized(%x: f32[n=3..9:3]) {
  %a, %b, %c = split %x parts=3 : f32[n//3], f32[n//3], f32[n//3]
  return %b
}
>>>
$ viewfold run sized.vf --in x=[1,2,3,4,5,6]
b: f32[2] = [3.0, 4.0]

== too few names
<<< few.vf
graph @few(%i: f32[7]) {
  %a, %b = chunk %i chunks=3
  return %a
}
>>>
$ viewfold dump --stage=graph few.vf
! few.vf:2:3: error: wrong number of results of chunk, found 2 names, expected 3, as in %a, %b, %c = chunk
? 2
