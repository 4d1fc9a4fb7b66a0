# Cumulative operations and sorting. Numbers by hand.
<<< cumulative.vf
graph @cumulative(%x: i32[2,3], %f: f32[5]) {
  %s = cumsum %x axis=1
  %r = cumsum %x axis=1 reverse=true
  %e = cumsum %x axis=1 exclusive=true
  %re = cumsum %x axis=-1 reverse=true exclusive=true
  %d = cumsum %x axis=0
  %p = cumprod %x axis=1
  %pe = cumprod %x axis=1 exclusive=true
  %hi = cummax %x axis=1
  %lo = cummin %x axis=1 reverse=true
  %fs = cumsum %f axis=0
  %fp = cumprod %f axis=0
  %fh = cummax %f axis=0
  %fl = cummin %f axis=0 reverse=true
  return %s, %r, %e, %re, %d, %p, %pe, %hi, %lo, %fs, %fp, %fh, %fl
}
>>>
<<< sort.vf
graph @sort(%f: f32[7], %x: i8[2,4]) {
  %up = sort %f
  %down = sort %f descending=true
  %i = argsort %f
  %j = argsort %f descending=true
  %columns = sort %x axis=0
  %rows = argsort %x axis=1 descending=true
  return %up, %down, %i, %j, %columns, %rows
}
>>>
@text g.vf: viewfold dump --stage=graph g.vf

== cumulative sums, products, maxima and minima; NaN and infinities affect only the results that include them
$ viewfold run cumulative.vf --in x=[[3,-1,2],[0,5,4]] --in f=[1,inf,-2,nan,3] --check
s: i32[2,3] = [[3, 2, 4], [0, 5, 9]]
r: i32[2,3] = [[4, 1, 2], [9, 9, 4]]
e: i32[2,3] = [[0, 3, 2], [0, 0, 5]]
re: i32[2,3] = [[1, 2, 0], [9, 4, 0]]
d: i32[2,3] = [[3, -1, 2], [3, 4, 6]]
p: i32[2,3] = [[3, -3, -6], [0, 0, 0]]
pe: i32[2,3] = [[1, 3, -3], [1, 0, 0]]
hi: i32[2,3] = [[3, 3, 3], [0, 5, 5]]
lo: i32[2,3] = [[-1, -1, 2], [0, 4, 4]]
fs: f32[5] = [1.0, inf, inf, nan, nan]
fp: f32[5] = [1.0, inf, -inf, nan, nan]
fh: f32[5] = [1.0, inf, inf, nan, nan]
fl: f32[5] = [nan, nan, nan, nan, 3.0]
[...]

== stable in both directions, NaN greater than all, zeros of either sign equal
$ viewfold run sort.vf --in f=[2,nan,0.0,-inf,-0.0,2,nan] --in x=[[1,-3,1,7],[0,-3,2,1]] --check
up: f32[7] = [-inf, 0.0, -0.0, 2.0, 2.0, nan, nan]
down: f32[7] = [nan, nan, 2.0, 2.0, 0.0, -0.0, -inf]
i: i64[7] = [3, 2, 4, 0, 5, 1, 6]
j: i64[7] = [1, 6, 0, 5, 2, 4, 3]
columns: i8[2,4] = [[0, -3, 1, 1], [1, -3, 2, 7]]
rows: i64[2,4] = [[3, 0, 2, 1], [2, 3, 0, 1]]
[...]

== the greatest, the least, their indices, and none (k=0)
<<< topk.vf
graph @topk(%x: f32[2,4]) {
  %v, %i = topk %x k=2
  %w, %j = topk %x k=1 axis=0 largest=false
  %none, %k = topk %x k=0
  return %v, %i, %w, %j, %none
}
>>>
$ viewfold run topk.vf --in x=[[4,9,9,-1],[nan,0,8,8]]
v: f32[2,2] = [[9.0, 9.0], [nan, 8.0]]
i: i64[2,2] = [[1, 2], [0, 2]]
w: f32[1,4] = [[4.0, 0.0, 8.0, -1.0]]
j: i64[1,4] = [[0, 1, 1, 0]]
none: f32[2,0] = [[], []]

== 64 bits, sorted by halves
<<< wide.vf
graph @wide(%x: i64[5], %y: u64[3], %z: f64[4]) {
  %a = sort %x
  %b = sort %y descending=true
  %c = argsort %z
  return %a, %b, %c
}
>>>
$ viewfold run wide.vf --in x=[4294967297,-1,4294967296,-9223372036854775808,1] --in y=[1,18446744073709551615,4294967296] --in z=[1.0000000001,1,-inf,-1.0000000001]
a: i64[5] = [-9223372036854775808, -1, 1, 4294967296, 4294967297]
b: u64[3] = [18446744073709551615, 4294967296, 1]
c: i64[4] = [2, 3, 1, 0]

== narrow floats accumulate in f32 and are rounded once: 2048 + 1 is no f16, 2048 + 2 is
<<< narrow.vf
graph @narrow(%x: f16[4]) {
  %y = cumsum %x axis=0
  return %y
}
>>>
$ viewfold run narrow.vf --in x=[2048,1,1,1]
y: f16[4] = [2048.0, 2048.0, 2050.0, 2052.0]

== several levels of blocks, symbolic sizes, any axis
<<< large.vf
graph @large(%n: i32[n=0..70000]) {
  %i = iota shape=[n] dtype=i32
  %a = mul %i, 40503
  %b = add %a, %n
  %x = mod %b, 30011
  %s = cumsum %x axis=0
  %h = cummax %x axis=0 reverse=true
  %p = argsort %x descending=true
  return %s, %h, %p
}
>>>
$ printf 'graph @z(%%n: i32[2]) {\n %%y = full shape=[66000] value=3\n return %%y\n}\n' > z.vf
$ viewfold run z.vf --in n=[0,0] --out y=n.npy
$ viewfold run large.vf --in n=n.npy --check | tail -3
check s: 66000 elements, bit-equal
check h: 66000 elements, bit-equal
check p: 66000 elements, bit-equal
$ viewfold run large.vf --in n=[1,2,3,4,5] --check | tail -3
check s: 5 elements, bit-equal
check h: 5 elements, bit-equal
check p: 5 elements, bit-equal
$ viewfold run large.vf --in n=[] --check | tail -3
check s: 0 elements, bit-equal
check h: 0 elements, bit-equal
check p: 0 elements, bit-equal

== several levels of blocks along a symbolic size, in each of a few rows
<<< rows.vf
graph @rows(%x: i32[3,n=1..5000]) {
  %y = cumsum %x axis=1
  return %y
}
>>>
<<< make.vf
graph @make() {
  %x = iota shape=[3,2,300] axis=1 dtype=i32
  %y = reshape %x shape=[3,600]
  return %y
}
>>>
$ viewfold run make.vf --out y=x.npy
$ viewfold run rows.vf --in x=x.npy --check | grep check
check y: 1800 elements, bit-equal

== rows of two symbolic sizes, which may not divide into whole iterations: separate kernels
<<< sizes.vf
graph @sizes(%x: f32[16,r=2..40,m=2..257]) {
  %s = mean %x axes=[1] keepdims=true
  %c = sub %x, %s
  %p = cumsum %c axis=2
  %t = mean %p axes=[2] keepdims=true
  %y = sub %p, %t
  return %y
}
>>>
<<< make.vf
graph @make() {
  %x = iota shape=[16,7,190] axis=2 dtype=f32
  return %x
}
>>>
$ viewfold run make.vf --out x=x.npy
$ viewfold run sizes.vf --in x=x.npy --check | grep check
check y: 21280 [..]

== a step that sorts; without such steps one kernel for each of the 55 stages that sort 1024 keys, and one for the indices
<<< stages.vf
graph @stages(%x: i32[1024]) {
  %y = argsort %x
  return %y
}
>>>
$ viewfold dump --stage=kernels stages.vf | grep -v '^$'
graph @stages: 0 kernels, 0 temporaries
argsort axis 0 -> %y i64[1024]
  reads   %x i32[1024]
  for     %y = argsort %x (line 2)
$ viewfold dump --stage=kernels --target sort=0 stages.vf | head -1
graph @stages: 56 kernels, 55 temporaries

== of the first elements no more are sorted than are read
<<< first.vf
graph @first(%x: f32[8,1024]) {
  %v, %i = topk %x k=4 axis=1
  return %v, %i
}
>>>
$ viewfold dump --stage=kernels first.vf | grep -A1 argsort
argsort axis 1 descending, the first 4 -> temporary 0 i64[8,1024]
  reads   %x f32[8,1024]

== a stored value separates two kernels
<<< stored.vf
graph @stored(%x: f32[4]) {
  %a = neg %x
  %b = stored %a
  %c = abs %b
  return %c
}
>>>
$ viewfold dump --stage=kernels stored.vf | head -1
graph @stored: 2 kernels, 1 temporary
$ viewfold run stored.vf --in x=[1,-2,3,-4]
c: f32[4] = [1.0, 2.0, 3.0, 4.0]

== an exclusive cumulative maximum is refused, as the first would be of nothing
graph @bad(%x: f32[2,3]) {
  %y = cummax %x axis=0 exclusive=true
  return %y
}
! g.vf:2:3: error: cummax: there is no attribute exclusive; attributes: axis, reverse
? 2

== sorting along a size with too large a bound
graph @bad(%x: i8[n=0..5000000000]) {
  %y = argsort %x
  return %y
}
! g.vf:2:3: error: argsort: axis 0 has size n; x has shape i8[n]; at most 2^32 elements are sorted; needs n <= 4294967296, known: 0 <= n <= 5000000000; declare n=0..4294967296
? 2
