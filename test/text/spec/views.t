# The worked numbers of the specification's table of views.
@text g.vf: viewfold dump --stage=graph g.vf

== an axis is inserted, from either end of the result
# spec: V10 V10.U
<<< insert.vf
graph @insert(%x: i32[2,3]) {
  %last = unsqueeze %x axis=-1 : i32[2,3,1]
  %first = unsqueeze %x axis=-3 : i32[1,2,3]
  %none = unsqueeze %x : i32[1,2,3]
  %middle = unsqueeze %x axis=1 : i32[2,1,3]
  return %last, %first, %none, %middle
}
>>>
$ viewfold run insert.vf --in x=[[0,1,2],[3,4,5]]
last: i32[2,3,1] = [[[0], [1], [2]], [[3], [4], [5]]]
first: i32[1,2,3] = [[[0, 1, 2], [3, 4, 5]]]
none: i32[1,2,3] = [[[0, 1, 2], [3, 4, 5]]]
middle: i32[2,1,3] = [[[0, 1, 2]], [[3, 4, 5]]]

== axes outside the result, and outside the operand
# spec: V7
<<< insert.vf
graph @insert(%x: i32[2,3]) {
  %y = unsqueeze %x axis=3
  return %y
}
>>>
<<< below.vf
graph @below(%x: i32[2,3]) {
  %y = unsqueeze %x axis=-4
  return %y
}
>>>
<<< drop.vf
graph @drop(%x: i32[10,5]) {
  %y = flip %x axis=-3
  return %y
}
>>>
$ viewfold dump --stage=graph insert.vf
! insert.vf:2:3: error: unsqueeze: axis 3 is out of range; [..]
? 2
$ viewfold dump --stage=graph below.vf
! below.vf:2:3: error: unsqueeze: axis -4 is out of range; [..]
? 2
$ viewfold dump --stage=graph drop.vf
! drop.vf:2:3: error: flip: axis -3 is out of range; [..]
? 2

== an axis of size 1 is dropped, several, all
# spec: V11
<<< drop.vf
graph @drop(%x: i32[1,5], %y: i32[2,1,3,1]) {
  %first = squeeze %x axis=0 : i32[5]
  %all = squeeze %y : i32[2,3]
  %two = squeeze %y axes=[1,-1] : i32[2,3]
  %last = squeeze %y axis=-1 : i32[2,1,3]
  return %first, %all, %two, %last
}
>>>
$ viewfold run drop.vf --in x=[[1,2,3,4,5]] --in y=[[[[1],[2],[3]]],[[[4],[5],[6]]]]
first: i32[5] = [1, 2, 3, 4, 5]
all: i32[2,3] = [[1, 2, 3], [4, 5, 6]]
two: i32[2,3] = [[1, 2, 3], [4, 5, 6]]
last: i32[2,1,3] = [[[1, 2, 3]], [[4, 5, 6]]]

== an axis of another size cannot be dropped
# spec: V8
graph @drop(%x: i32[10,5]) {
  %y = squeeze %x axis=0
  return %y
}
! g.vf:2:3: error: squeeze: axis 0 [..]
? 2

== two axes exchanged
# spec: V12
<<< swap.vf
graph @swap(%x: i32[2,3]) {
  %y = swap_axes %x axis1=0 axis2=1 : i32[3,2]
  %z = transpose %x axis1=-1 axis2=0 : i32[3,2]
  %same = swap_axes %x axis1=1 axis2=-1 : i32[2,3]
  return %y, %z, %same
}
>>>
$ viewfold run swap.vf --in x=[[0,1,2],[3,4,5]]
y: i32[3,2] = [[0, 3], [1, 4], [2, 5]]
z: i32[3,2] = [[0, 3], [1, 4], [2, 5]]
same: i32[2,3] = [[0, 1, 2], [3, 4, 5]]

== one axis moved
# spec: V13
<<< move.vf
graph @move() {
  %r = arange stop=24 dtype=i32
  %x = reshape %r shape=[2,3,4]
  %a = moveaxis %x source=0 destination=2 : i32[3,4,2]
  %b = moveaxis %x source=2 destination=0 : i32[4,2,3]
  %c = moveaxis %x source=-3 destination=-1 : i32[3,4,2]
  %row = slice %a start=[1,0,0] size=[1,4,2] : i32[1,4,2]
  %front = slice %b start=[3,0,0] size=[1,2,3] : i32[1,2,3]
  %same = eq %a, %c
  %both = all %same
  %p = slice %a start=[1,2,1] size=[1,1,1]
  %element = reshape %p shape=[]
  return %row, %front, %both, %element
}
>>>
$ viewfold run move.vf
row: i32[1,4,2] = [[[4, 16], [5, 17], [6, 18], [7, 19]]]
front: i32[1,2,3] = [[[3, 7, 11], [15, 19, 23]]]
both: bool[] = true
element: i32[] = 18

== an order and its inverse
# spec: V14 V14.U
<<< order.vf
graph @order(%x: i32[1,2,3]) {
  %y = permute %x order=[1,2,0] : i32[2,3,1]
  %z = permute %y order=[2,0,1] : i32[1,2,3]
  %n = permute %x order=[-2,-1,-3] : i32[2,3,1]
  return %y, %z, %n
}
>>>
$ viewfold run order.vf --in x=[[[0,1,2],[3,4,5]]]
y: i32[2,3,1] = [[[0], [1], [2]], [[3], [4], [5]]]
z: i32[1,2,3] = [[[0, 1, 2], [3, 4, 5]]]
n: i32[2,3,1] = [[[0], [1], [2]], [[3], [4], [5]]]

== an order that is no permutation
# spec: V14
graph @order(%x: i32[2,3]) {
  %y = permute %x order=[0,-2]
  return %y
}
! g.vf:2:3: error: permute: order [0,-2] repeats axis 0; [..]
? 2

== an axis reversed
# spec: V15
<<< flip.vf
graph @flip(%x: i32[4], %y: i32[2,2]) {
  %a = flip %x axis=0
  %b = flip %y axis=-1
  return %a, %b
}
>>>
$ viewfold run flip.vf --in x=[0,1,2,3] --in y=[[1,2],[3,4]]
a: i32[4] = [3, 2, 1, 0]
b: i32[2,2] = [[2, 1], [4, 3]]

== axes added in front, sizes of 1 repeated
# spec: V16
<<< repeat.vf
graph @repeat(%x: i32[3], %y: i32[2,1], %s: i32[]) {
  %a = broadcast_to %x shape=[2,3]
  %b = broadcast_to %y shape=[2,3]
  %c = broadcast_to %s shape=[2]
  return %a, %b, %c
}
>>>
$ viewfold run repeat.vf --in x=[0,1,2] --in y=[[7],[8]] --in s=9
a: i32[2,3] = [[0, 1, 2], [0, 1, 2]]
b: i32[2,3] = [[7, 7, 7], [8, 8, 8]]
c: i32[2] = [9, 9]

== other sizes are not repeated, axes not dropped
# spec: V16
<<< size.vf
graph @size(%x: i32[3]) {
  %y = broadcast_to %x shape=[2,6]
  return %y
}
>>>
<<< rank.vf
graph @rank(%x: i32[1,3]) {
  %y = broadcast_to %x shape=[3]
  return %y
}
>>>
$ viewfold dump --stage=graph size.vf
! size.vf:2:3: error: broadcast_to: [..]
? 2
$ viewfold dump --stage=graph rank.vf
! rank.vf:2:3: error: broadcast_to: [..]
? 2

== the same elements under another shape
# spec: V17
<<< shape.vf
graph @shape(%x: i32[2,3]) {
  %a = reshape %x shape=[3,2]
  %b = reshape %x shape=[-1,2]
  return %a, %b
}
>>>
$ viewfold run shape.vf --in x=[[0,1,2],[3,4,5]]
a: i32[3,2] = [[0, 1], [2, 3], [4, 5]]
b: i32[3,2] = [[0, 1], [2, 3], [4, 5]]

== a size that cannot be inferred
# spec: V17.U
<<< divides.vf
graph @divides(%x: i32[2,3]) {
  %y = reshape %x shape=[-1,4]
  return %y
}
>>>
<<< twice.vf
graph @twice(%x: i32[2,3]) {
  %y = reshape %x shape=[-1,-1]
  return %y
}
>>>
<<< number.vf
graph @number(%x: i32[2,3]) {
  %y = reshape %x shape=[4]
  return %y
}
>>>
$ viewfold dump --stage=graph divides.vf
! divides.vf:2:3: error: reshape: [..]
? 2
$ viewfold dump --stage=graph twice.vf
! twice.vf:2:3: error: reshape: [..]
? 2
$ viewfold dump --stage=graph number.vf
! number.vf:2:3: error: reshape: shape [4] has 4 elements; x has shape i32[2,3], 6 elements; a reshape keeps their number
? 2

== a window
# spec: V18
<<< window.vf
graph @window() {
  %r = arange stop=12 dtype=i32
  %x = reshape %r shape=[3,4]
  %y = slice_tensor %x start=[-2,1] size=[2,2]
  return %y
}
>>>
$ viewfold run window.vf
y: i32[2,2] = [[5, 6], [9, 10]]

== windows that leave the operand
# spec: V18.U
<<< long.vf
graph @long(%x: i32[3,4]) {
  %y = slice_tensor %x start=[-2,1] size=[3,2]
  return %y
}
>>>
<<< before.vf
graph @before(%x: i32[3,4]) {
  %y = slice_tensor %x start=[-4,1] size=[1,2]
  return %y
}
>>>
<<< after.vf
graph @after(%x: i32[3,4]) {
  %y = slice_tensor %x start=[0,3] size=[1,2]
  return %y
}
>>>
$ viewfold dump --stage=graph long.vf
! long.vf:2:3: error: slice_tensor: [..]
? 2
$ viewfold dump --stage=graph before.vf
! before.vf:2:3: error: slice_tensor: [..]
? 2
$ viewfold dump --stage=graph after.vf
! after.vf:2:3: error: slice_tensor: [..]
? 2

== concatenated
# spec: V20
<<< join.vf
graph @join(%x: i32[2,2], %row: i32[1,2], %column: i32[2,1]) {
  %a = concatenate %x, %row axis=0
  %b = concatenate %x, %column axis=1
  %one = concatenate %x
  return %a, %b, %one
}
>>>
$ viewfold run join.vf --in x=[[0,1],[2,3]] --in row=[[10,11]] --in column=[[10],[11]]
a: i32[3,2] = [[0, 1], [2, 3], [10, 11]]
b: i32[2,3] = [[0, 1, 10], [2, 3, 11]]
one: i32[2,2] = [[0, 1], [2, 3]]

== tensors that cannot be concatenated
# spec: V20
<<< sizes.vf
graph @sizes(%x: i32[2,2], %y: i32[2,3]) {
  %z = concatenate %x, %y axis=0
  return %z
}
>>>
<<< ranks.vf
graph @ranks(%x: i32[2,2], %y: i32[2]) {
  %z = concatenate %x, %y axis=0
  return %z
}
>>>
<<< none.vf
graph @none(%x: i32[2,2]) {
  %z = concatenate axis=0
  return %z
}
>>>
$ viewfold dump --stage=graph sizes.vf
! sizes.vf:2:3: error: concatenate: [..]
? 2
$ viewfold dump --stage=graph ranks.vf
! ranks.vf:2:3: error: concatenate: [..]
? 2
$ viewfold dump --stage=graph none.vf
! none.vf:2:[..]
? 2

== stacked along a new axis
# spec: V21
<<< pile.vf
graph @pile(%x: i32[2], %y: i32[2]) {
  %a = stack %x, %y axis=0
  %b = stack %x, %y axis=-1
  return %a, %b
}
>>>
$ viewfold run pile.vf --in x=[0,1] --in y=[8,9]
a: i32[2,2] = [[0, 1], [8, 9]]
b: i32[2,2] = [[0, 8], [1, 9]]

== unequal shapes cannot be stacked
# spec: V21
graph @pile(%x: i32[2], %y: i32[1]) {
  %a = stack %x, %y
  return %a
}
! g.vf:2:3: error: stack: [..]
? 2

== gathered by indices
# spec: V22
<<< pick.vf
graph @pick(%x: i32[3,2], %i: i64[3], %r: i32[2,3], %v: i32[4], %k: i64[2,2]) {
  %a = gather %x, %i axis=0
  %b = take %r, %i axis=1
  %c = gather %v, %k
  %d = gather %r, %i axis=-1
  return %a, %b, %c, %d
}
>>>
$ viewfold run pick.vf --in x=[[0,1],[2,3],[4,5]] --in i=[2,0,2] --in r=[[0,1,2],[3,4,5]] --in v=[0,1,2,3] --in k=[[3,0],[1,1]]
a: i32[3,2] = [[4, 5], [0, 1], [4, 5]]
b: i32[2,3] = [[2, 0, 2], [5, 3, 5]]
c: i32[2,2] = [[3, 0], [1, 1]]
d: i32[2,3] = [[2, 0, 2], [5, 3, 5]]

== each row gathered with its own indices
# spec: V22.axes
<<< rows.vf
graph @rows(%x: i32[2,3], %i: i64[2,2]) {
  %y = gather %x, %i axis=1 batch=1
  return %y
}
>>>
$ viewfold run rows.vf --in x=[[0,1,2],[3,4,5]] --in i=[[2,0],[1,-1]]
y: i32[2,2] = [[2, 0], [4, 5]]

== a window overwritten
# spec: V19
<<< window.vf
graph @window(%u: i32[2,2]) {
  %r = arange stop=12 dtype=i32
  %x = reshape %r shape=[3,4]
  %y = slice_update %x, %u start=[1,1] size=[2,2]
  %row = slice_update %x, 9 start=[-1,0] size=[1,4]
  %a = slice %y start=[0,0] size=[1,4]
  %b = slice %y start=[1,0] size=[2,4]
  %c = slice %row start=[1,0] size=[2,4]
  return %a, %b, %c
}
>>>
$ viewfold run window.vf --in u=[[100,101],[102,103]]
a: i32[1,4] = [[0, 1, 2, 3]]
b: i32[2,4] = [[4, 100, 101, 7], [8, 102, 103, 11]]
c: i32[2,4] = [[4, 5, 6, 7], [9, 9, 9, 9]]

== the window's old elements do not affect the result, and the new ones are stored unchanged
# spec: V19.U
<<< window.vf
graph @window(%x: f32[3], %u: f32[1], %b: bool[2], %t: bool[1], %i: i64[2], %j: i64[1]) {
  %y = slice_update %x, %u start=[1] size=[1]
  %z = slice_update %b, %t start=[0] size=[1]
  %k = slice_update %i, %j start=[0] size=[1]
  return %y, %z, %k
}
>>>
$ viewfold run window.vf --in x=[nan,nan,inf] --in u=[-inf] --in b=[false,true] --in t=[true] --in i=[1,9223372036854775807] --in j=[-9223372036854775808]
y: f32[3] = [nan, -inf, inf]
z: bool[2] = [true, true]
k: i64[2] = [-9223372036854775808, 9223372036854775807]

== scattered by indices; of equal ones the last stays
# spec: V23
<<< spread.vf
graph @spread(%x: i32[4,2], %u: i32[2,2], %i: i64[2], %r: i32[2,4], %e: i32[3], %d: i64[2], %v: i32[2]) {
  %a = scatter %x, %i, %u axis=0
  %b = scatter %r, %i, %u axis=1
  %c = scatter %e, %d, %v
  return %a, %b, %c
}
>>>
$ viewfold run spread.vf --in x=[[0,1],[2,3],[4,5],[6,7]] --in u=[[100,101],[102,103]] --in i=[3,1] --in r=[[0,1,2,3],[4,5,6,7]] --in e=[0,1,2] --in d=[1,1] --in v=[7,8]
a: i32[4,2] = [[0, 1], [102, 103], [4, 5], [100, 101]]
b: i32[2,4] = [[0, 101, 2, 100], [4, 103, 6, 102]]
c: i32[3] = [0, 8, 2]

== padded
# spec: V24
<<< pad.vf
graph @pad(%x: i32[2,2]) {
  %y = pad %x pads=[[1,0],[0,2]] value=9
  return %y
}
>>>
$ viewfold run pad.vf --in x=[[1,2],[3,4]]
y: i32[3,4] = [[9, 9, 9, 9], [1, 2, 9, 9], [3, 4, 9, 9]]

== adjacent axes merged
# spec: V25
<<< flat.vf
graph @flat() {
  %r = arange stop=24 dtype=i32
  %x = reshape %r shape=[2,3,4]
  %a = flatten %x start_dim=1 end_dim=2 : i32[2,12]
  %b = flatten %x : i32[24]
  %same = flatten %x start_dim=1 end_dim=1 : i32[2,3,4]
  %p = slice %a start=[1,5] size=[1,1]
  %element = reshape %p shape=[]
  return %element
}
>>>
$ viewfold run flat.vf
element: i32[] = 17

== a type that is stated, and one that is wrong
# spec: V26
<<< type.vf
graph @type(%x: i32[n=2..8:2]) {
  %y = %x : i32[n]
  return %y
}
>>>
<<< other.vf
graph @other(%x: i32[n=2..8:2]) {
  %y = %x : i32[n//2]
  return %y
}
>>>
$ viewfold run type.vf --in x=[1,2,3,4]
y: i32[4] = [1, 2, 3, 4]
$ viewfold dump --stage=graph other.vf
! other.vf:2:[..] error: [..]
? 2
