# The worked numbers of the specification's table of functions.

== sums, differences, products and quotients broadcast
# spec: F1
<<< four.vf
graph @four(%x: f32[2,2], %y: f32[2], %z: f32[3]) {
  %a = add %x, %y
  %b = sub %x, %y
  %c = mul %x, %y
  %d = div %x, %y
  return %a, %b, %c, %d
}
>>>
<<< three.vf
graph @three(%x: f32[2,2], %z: f32[3]) {
  %a = add %x, %z
  return %a
}
>>>
$ viewfold run four.vf --in x=[[1,2],[3,4]] --in y=[2,4] --in z=[0,0,0]
a: f32[2,2] = [[3.0, 6.0], [5.0, 8.0]]
b: f32[2,2] = [[-1.0, -2.0], [1.0, 0.0]]
c: f32[2,2] = [[2.0, 8.0], [6.0, 16.0]]
d: f32[2,2] = [[0.5, 0.5], [1.5, 1.0]]
$ viewfold dump --stage=graph three.vf
! three.vf:2:3: error: add: shapes f32[2,2] and f32[3] do not broadcast: [..]
? 2

== products of matrices, of vectors, of stacks that broadcast
# spec: F2
<<< product.vf
graph @product(%x: i32[2,2], %v: i32[2], %s: i32[2,1,2]) {
  %a = matmul %x, %x
  %b = matmul %x, %v
  %c = matmul %v, %x
  %d = matmul %v, %v
  %e = matmul %s, %x : i32[2,1,2]
  return %a, %b, %c, %d, %e
}
>>>
<<< unequal.vf
graph @unequal(%x: i32[2,3]) {
  %a = matmul %x, %x
  return %a
}
>>>
$ viewfold run product.vf --in x=[[1,2],[3,4]] --in v=[1,10] --in s=[[[1,0]],[[0,1]]]
a: i32[2,2] = [[7, 10], [15, 22]]
b: i32[2] = [21, 43]
c: i32[2] = [31, 42]
d: i32[] = 101
e: i32[2,1,2] = [[[1, 2]], [[3, 4]]]
$ viewfold dump --stage=graph unequal.vf
! unequal.vf:2:3: error: matmul: [..]
? 2

== a product over four terms, split as shards would add it up
# spec: F2
<<< whole.vf
graph @whole() {
  %r = arange stop=8 dtype=i32
  %a = reshape %r shape=[2,4]
  %b = reshape %r shape=[4,2]
  %a0 = slice %a start=[0,0] size=[2,2]
  %a1 = slice %a start=[0,2] size=[2,2]
  %b0 = slice %b start=[0,0] size=[2,2]
  %b1 = slice %b start=[2,0] size=[2,2]
  %left = matmul %a0, %b0
  %right = matmul %a1, %b1
  %sum = add %left, %right
  %all = matmul %a, %b
  return %left, %right, %sum, %all
}
>>>
$ viewfold run whole.vf
left: i32[2,2] = [[2, 3], [10, 19]]
right: i32[2,2] = [[26, 31], [66, 79]]
sum: i32[2,2] = [[28, 34], [76, 98]]
all: i32[2,2] = [[28, 34], [76, 98]]

== functions of one operand
# spec: F3
<<< one.vf
graph @one(%x: f32[3], %p: f32[3]) {
  %relu = relu %x
  %sigmoid = sigmoid %x
  %tanh = tanh %x
  %exp = exp %x
  %neg = neg %x
  %abs = abs %x
  %log = log %p
  %sqrt = sqrt %p
  return %relu, %sigmoid, %tanh, %exp, %neg, %abs, %log, %sqrt
}
>>>
$ viewfold run one.vf --in x=[-1,0,2] --in p=[1,4,0]
relu: f32[3] = [0.0, 0.0, 2.0]
sigmoid: f32[3] = [0.2689[..], 0.5, 0.8807[..]]
tanh: f32[3] = [-0.7615[..], 0.0, 0.9640[..]]
exp: f32[3] = [0.3678[..], 1.0, 7.389[..]]
neg: f32[3] = [1.0, -0.0, -2.0]
abs: f32[3] = [1.0, 0.0, 2.0]
log: f32[3] = [0.0, 1.386[..], -inf]
sqrt: f32[3] = [1.0, 2.0, 0.0]

== softmax: quotients of exponentials and their sum
# spec: F4
<<< shares.vf
graph @shares(%x: f32[2,2]) {
  %rows = softmax %x
  %columns = softmax %x axis=0
  return %rows, %columns
}
>>>
$ viewfold run shares.vf --in x=[[0,0],[1000,1000]]
rows: f32[2,2] = [[0.5, 0.5], [0.5, 0.5]]
columns: f32[2,2] = [[0.0, 0.0], [1.0, 1.0]]

== over all axes, one, two, none
# spec: F5
<<< over.vf
graph @over(%x: i32[2,3]) {
  %all = reduce_sum %x
  %one = reduce_sum %x axis=-1
  %two = reduce_sum %x axes=[0,1]
  %kept = reduce_sum %x axes=[1] keepdims=true
  %none = reduce_sum %x axes=[]
  %least = reduce_min %x axis=0
  %most = reduce_max %x axis=1
  return %all, %one, %two, %kept, %none, %least, %most
}
>>>
$ viewfold run over.vf --in x=[[5,1,2],[3,4,0]]
all: i32[] = 15
one: i32[2] = [8, 7]
two: i32[] = 15
kept: i32[2,1] = [[8], [7]]
none: i32[2,3] = [[5, 1, 2], [3, 4, 0]]
least: i32[3] = [3, 1, 0]
most: i32[2] = [5, 4]

== the mean divides by the number of elements
# spec: F6
<<< mean.vf
graph @mean(%x: f32[2,4], %i: i32[2]) {
  %all = mean %x
  %rows = mean %x axis=1
  %both = mean %x axes=[0,1] keepdims=true
  %integers = mean %i
  return %all, %rows, %both, %integers
}
>>>
$ viewfold run mean.vf --in x=[[1,2,3,4],[5,6,7,8]] --in i=[1,2]
all: f32[] = 4.5
rows: f32[2] = [2.5, 6.5]
both: f32[1,1] = [[4.5]]
integers: f32[] = 1.5

== comparisons and connectives give bool
# spec: F7
<<< truth.vf
graph @truth(%x: i32[3], %y: i32[3]) {
  %a = equal %x, %y
  %b = not_equal %x, %y
  %c = greater %x, %y
  %d = greater_equal %x, %y
  %e = less %x, %y
  %f = less_equal %x, %y
  %swapped = less %y, %x
  %g = logical_and %a, %d
  %h = logical_or %c, %e
  %i = logical_not %c
  return %a, %b, %c, %d, %e, %f, %swapped, %g, %h, %i
}
>>>
$ viewfold run truth.vf --in x=[1,2,3] --in y=[2,2,2]
a: bool[3] = [false, true, false]
b: bool[3] = [true, false, true]
c: bool[3] = [false, false, true]
d: bool[3] = [false, true, true]
e: bool[3] = [true, false, false]
f: bool[3] = [true, true, false]
swapped: bool[3] = [false, false, true]
g: bool[3] = [false, true, false]
h: bool[3] = [true, false, true]
i: bool[3] = [true, true, false]

== a constant fill
# spec: F8
<<< same.vf
graph @same() {
  %seven = full shape=[2,2] value=7
  %half = full shape=[2] value=0.5
  %zeros = zeros shape=[2]
  %ones = ones shape=[1,2] dtype=i64
  return %seven, %half, %zeros, %ones
}
>>>
$ viewfold run same.vf
seven: i32[2,2] = [[7, 7], [7, 7]]
half: f32[2] = [0.5, 0.5]
zeros: f32[2] = [0.0, 0.0]
ones: i64[1,2] = [[1, 1]]

== ranges
# spec: F9
<<< ranges.vf
graph @ranges() {
  %a = arange stop=3
  %b = arange start=2 stop=5
  %c = arange start=0 stop=7 step=3
  %d = arange start=5 stop=0 step=-2
  %e = arange start=3 stop=1
  return %a, %b, %c, %d, %e
}
>>>
<<< still.vf
graph @still() {
  %a = arange start=0 stop=3 step=0
  return %a
}
>>>
$ viewfold run ranges.vf
a: i64[3] = [0, 1, 2]
b: i64[3] = [2, 3, 4]
c: i64[3] = [0, 3, 6]
d: i64[3] = [5, 3, 1]
e: i64[0] = []
$ viewfold dump --stage=graph still.vf
! still.vf:2:3: error: arange: [..]
? 2

== constants; true is a bool
# spec: F10 F10.U
<<< constants.vf
graph @constants() {
  %i = constant value=3
  %f = constant value=0.5
  %t = constant value=true
  %d = data shape=[2] dtype=u8 values=[1,255]
  return %i, %f, %t, %d
}
>>>
$ viewfold run constants.vf
i: i32[] = 3
f: f32[] = 0.5
t: bool[] = true
d: u8[2] = [1, 255]

== where: three operands that broadcast
# spec: F12
<<< choice.vf
graph @choice(%c: bool[2,1], %x: i32[3], %y: f32[]) {
  %z = where %c, %x, %y
  return %z
}
>>>
$ viewfold run choice.vf --in c=[[true],[false]] --in x=[1,2,3] --in y=0.5
z: f32[2,3] = [[1.0, 2.0, 3.0], [0.5, 0.5, 0.5]]

== split: equal parts only
# spec: F16
<<< parts.vf
graph @parts(%x: i32[6]) {
  %a, %b, %c = split %x parts=3
  return %a, %b, %c
}
>>>
<<< uneven.vf
graph @uneven(%x: i32[7]) {
  %a, %b, %c = split %x parts=3
  return %a, %b, %c
}
>>>
$ viewfold run parts.vf --in x=[0,1,2,3,4,5]
a: i32[2] = [0, 1]
b: i32[2] = [2, 3]
c: i32[2] = [4, 5]
$ viewfold dump --stage=graph uneven.vf
! uneven.vf:2:3: error: split: [..]
? 2

== chunk: sizes differ by at most one, and none is empty
# spec: F17 F17.U
<<< parts.vf
graph @parts(%x: i32[7], %y: i32[2]) {
  %a, %b, %c = chunk %x chunks=3 : i32[3], i32[2], i32[2]
  %d, %e = chunk %y chunks=3 : i32[1], i32[1]
  return %a, %b, %c, %d, %e
}
>>>
$ viewfold run parts.vf --in x=[0,1,2,3,4,5,6] --in y=[8,9]
a: i32[3] = [0, 1, 2]
b: i32[2] = [3, 4]
c: i32[2] = [5, 6]
d: i32[1] = [8]
e: i32[1] = [9]

== indices along an axis
# spec: F18
<<< apart.vf
graph @apart(%x: i32[2,3]) {
  %a, %b = unbind %x
  %c, %d, %e = unbind %x axis=-1
  return %a, %b, %c, %d, %e
}
>>>
$ viewfold run apart.vf --in x=[[0,1,2],[3,4,5]]
a: i32[3] = [0, 1, 2]
b: i32[3] = [3, 4, 5]
c: i32[2] = [0, 3]
d: i32[2] = [1, 4]
e: i32[2] = [2, 5]

== the least and the greatest
# spec: F19
<<< ends.vf
graph @ends(%x: f32[2,2]) {
  %min, %max = minmax %x
  return %min, %max
}
>>>
$ viewfold run ends.vf --in x=[[3,-1],[7,0]]
min: f32[] = -1.0
max: f32[] = 7.0

== the remainder of floats is exact and has the divisor's sign, whatever the quotient
<<< mod.vf
graph @mod(%x: f32[4]) {
  %a = mod %x, 3.0
  %b = mod %x, -3.0
  %c = mod %x, inf
  %d = mod %x, -inf
  return %a, %b, %c, %d
}
>>>
$ viewfold run mod.vf --in x=[1,-1,0,7.5]
a: f32[4] = [1.0, 2.0, 0.0, 1.5]
b: f32[4] = [-2.0, -1.0, -0.0, -1.5]
c: f32[4] = [1.0, inf, 0.0, 7.5]
d: f32[4] = [-inf, -1.0, -0.0, -inf]
$ viewfold run mod.vf --in x=[1e10,1e20,-1e-30,3e38]
a: f32[4] = [1.0, 2.0, 3.0, 2.0]
b: f32[4] = [-2.0, -1.0, -1e-30, -1.0]
c: f32[4] = [10000000000.0, 1e+20, inf, 3e+38]
d: f32[4] = [-inf, -inf, -1e-30, -inf]
