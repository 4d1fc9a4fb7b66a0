# Gathers and scatters along an axis, take by flat indices, and slice_update. The values of slice_update are
# those of spec.md, V19.
<<< window.vf
graph @window(%x: i32[3,4], %u: i32[2,2], %f: f32[2,2]) {
  %a = slice_update %x, %u start=[1,1]
  %b = slice_update %x, 7 start=[-2,-1] size=[2,1]
  %c = slice_update %f, 0 start=[0,0] size=[2,1]
  return %a, %b, %c
}
>>>

== a window replaced; a start counted from the end; NaN and infinities replaced
$ viewfold run window.vf --in x=[[0,1,2,3],[4,5,6,7],[8,9,10,11]] --in u=[[100,101],[102,103]] --in f=[[nan,1],[inf,2]] --check
a: i32[3,4] = [[0, 1, 2, 3], [4, 100, 101, 7], [8, 102, 103, 11]]
b: i32[3,4] = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 7]]
c: f32[2,2] = [[0.0, 1.0], [0.0, 2.0]]
check a: 12 elements, bit-equal
check b: 12 elements, bit-equal
check c: 4 elements, bit-equal

== a copy of the array, and the window in it
<<< plain.vf
graph @plain(%x: f32[8], %u: f32[4]) {
  %a = slice_update %x, %u start=[4]
  return %a
}
>>>
$ viewfold dump --stage=loops plain.vf
\# kernel 0 nest 0: split a0 8; vector a0.1
kernel @plain_0(p0: f32[8], p1: f32[8]) {
  for ridx3 in 0..1 thread {
    for ridx5 in 0..8 vector {
      %0 = load p1[ridx5] : f32
      store p0[ridx5] = %0
    }
  }
}
\
\# kernel 1 nest 0: split a0 4; vector a0.1
kernel @plain_1(p0: f32[8], p1: f32[4]) {
  for ridx3 in 0..1 thread {
    for ridx5 in 0..4 vector {
      %0 = load p1[ridx5] : f32
      store p0[(ridx5+4)] = %0
    }
  }
}

== each row with its own indices
<<< along.vf
graph @along(%x: i32[2,3], %i: i64[2,2], %u: i32[2,2]) {
  %a = take_along_axis %x, %i axis=1
  %b = put_along_axis %x, %i, %u axis=1
  %c = scatter_add_along_axis %x, %i, 10 axis=1
  %d = take %x, %i mode=clip
  return %a, %b, %c, %d
}
>>>
$ viewfold run along.vf --in x=[[0,1,2],[4,5,6]] --in i=[[2,-3],[1,1]] --in u=[[7,8],[9,10]] --check
a: i32[2,2] = [[2, 0], [5, 5]]
b: i32[2,3] = [[8, 1, 7], [4, 10, 6]]
c: i32[2,3] = [[10, 1, 12], [4, 25, 6]]
d: i32[2,2] = [[2, 4], [1, 1]]
check a: 4 elements, bit-equal
check b: 6 elements, bit-equal
check c: 6 elements, bit-equal
check d: 4 elements, bit-equal

== all other axes must have equal sizes
<<< sizes.vf
graph @sizes(%x: i32[2,3], %i: i64[2,2]) {
  %d = take_along_axis %x, %i axis=0 mode=fill
  return %d
}
>>>
$ viewfold dump --stage=graph sizes.vf
! sizes.vf:2:3: error: take_along_axis: axis 1 has size 3 in x and 2 in the indices, of shapes i32[2,3] and i64[2,2]; sizes of all axes but axis 0 must be equal, or 1 in one of them
? 2
