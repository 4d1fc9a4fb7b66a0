# Axes by letters. Values by hand.
<<< images.vf
graph @images(%x: i32[2,2,2,2]) {
  %bchw = rearrange %x from="bhwc" to="bchw"
  %chwb = rearrange %x from="bhwc" to="chwb"
  %bf = rearrange %x from="bhwc" to="b(hwc)"
  %back = rearrange %bf from="b(h=2 w=2 c)" to="bhwc"
  return %bchw, %chwb, %bf, %back
}
>>>

== an image of the shape 2x2x2x2 in the orders of its axes
$ cat > x.py <<'END'
> print([[[[8*b+4*h+2*w+c for c in (0,1)] for w in (0,1)] for h in (0,1)] for b in (0,1)])
> END
$ viewfold run images.vf --in x="$(python3 x.py | tr -d ' ')"
bchw: i32[2,2,2,2] = [[[[0, 2], [4, 6]], [[1, 3], [5, 7]]], [[[8, 10], [12, 14]], [[9, 11], [13, 15]]]]
chwb: i32[2,2,2,2] = [[[[0, 8], [2, 10]], [[4, 12], [6, 14]]], [[[1, 9], [3, 11]], [[5, 13], [7, 15]]]]
bf: i32[2,8] = [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15]]
back: i32[2,2,2,2] = [[[[0, 1], [2, 3]], [[4, 5], [6, 7]]], [[[8, 9], [10, 11]], [[12, 13], [14, 15]]]]

== numbers, ellipses, repeats, reductions
<<< more.vf
graph @more(%x: i32[2,3], %y: i32[6]) {
  %a = rearrange %y from="(2n)" to="n2"
  %b = rearrange %x from="a..." to="...a1"
  %c = rearrange %y from="(n q=3)" to="q(n 2)"
  %d = rearrange %x from="ab" to="b" reduce=max
  %e = rearrange %x from="ab" to="" reduce=sum
  %f = rearrange %x from="ab" to="a()b"
  return %a, %b, %c, %d, %e, %f
}
>>>
$ viewfold run more.vf --in x=[[1,2,3],[4,5,6]] --in y=[0,1,2,3,4,5]
a: i32[3,2] = [[0, 3], [1, 4], [2, 5]]
b: i32[3,2,1] = [[[1], [4]], [[2], [5]], [[3], [6]]]
c: i32[3,4] = [[0, 0, 3, 3], [1, 1, 4, 4], [2, 2, 5, 5]]
d: i32[3] = [4, 5, 6]
e: i32[] = 21
f: i32[2,1,3] = [[[1, 2, 3]], [[4, 5, 6]]]

== it is a view: one kernel, without a temporary, and sizes may vary
<<< sizes.vf
graph @sizes(%x: f32[n=1..64,m=4..32:4,3]) {
  %a = rearrange %x from="b(h p=4)c" to="(bh)(cp)"
  return %a
}
>>>
$ viewfold dump --stage=index sizes.vf
index @sizes_0(m=4..32:4, n=1..64, p0: f32[((m*n)*3)], p1: f32[((m*n)*3)]) {
  range ridx0 in 0..(n*(m//4))
  range ridx1 in 0..12
  %0 = load p1[((((ridx0%(m//4))*12)+((ridx1+(m*(ridx0//(m//4))))*3))-((ridx1//4)*11))] : f32
  store p0[((ridx0*12)+ridx1)] = %0
}
$ viewfold dump --stage=kernels sizes.vf | head -1
graph @sizes: 1 kernel, 0 temporaries

== a target of writes
<<< write.vf
graph @write(%x: i32[2,4], %u: i32[2,2]) {
  %p = address %x
  %t = rearrange %p from="b(h p=2)" to="pbh"
  %s = point %t index=1 axis=0
  %y = assign %x, %s, %u
  return %y
}
>>>
$ viewfold run write.vf --in x=[[0,1,2,3],[4,5,6,7]] --in u=[[10,20],[30,40]]
y: i32[2,4] = [[0, 10, 2, 20], [4, 30, 6, 40]]

== what is wrong with a pattern
$ while read -r given; do
>   printf 'graph @g(%%x: f32[2,3,4], %%y: f32[n=1..9]) {\n  %%z = rearrange %s\n  return %%z\n}\n' "$given" > bad.vf
>   viewfold dump --stage=graph bad.vf 2>&1 | sed -n '1s/^[^ ]* error: //p'
> done <<'END'
> %x from="bhw" to="bh"
> %x from="bh" to="hb"
> %x from="bhw" to="bhq"
> %x from="b(hp)w" to="bhpw"
> %x from="bbw" to="bw"
> %x from="bhw" to="bhwh"
> %x from="b(h p=5)w" to="bhpw"
> %x from="bh=2w" to="bhw"
> %x from="b[h]w" to="bhw"
> %x from="b(hw" to="bhw"
> %x from="bhw" to="bw" reduce=median
> %x from="bhw" to="bhw=5"
> %x from="b2w" to="bw"
> %x from="bh=w" to="bhw"
> %x from="b......" to="b..."
> %x from="bhw" to="b(h(w))"
> %y from="(a 2)" to="a2"
> %x from=3 to="bhw"
> END
rearrange: 'w' of from 'bhw' is not in to 'bh'; x has shape f32[2,3,4]; an axis that goes is reduced, by reduce=sum or another
rearrange: from 'bh' has 2 axes; x has shape f32[2,3,4]; each axis takes a letter, a number or a group, and ... any others
rearrange: 'q' of to 'bhq' is not in from 'bhw'; x has shape f32[2,3,4]; an axis that repeats elements has its size, as in h=2
rearrange: from 'b(hp)w' has axes 'h' and 'p' in one group, and the size of neither; x has shape f32[2,3,4]; all but one have a size, as in h=2
rearrange: from 'bbw': letter 'b' stands twice; a pattern is like 'bhwc', 'b(hw)c', 'b(hp=2)c' or '...c', each letter once
rearrange: to 'bhwh': letter 'h' stands twice; a pattern is like 'bhwc', 'b(hw)c', 'b(hp=2)c' or '...c', each letter once
rearrange: axis 1 of x has size 3, and from 'b(h p=5)w' gives it 5; x has shape f32[2,3,4]; the sizes that are given divide it
rearrange: axis 1 of x has size 3, and from 'bh=2w' gives it 2; x has shape f32[2,3,4]; both must be equal
rearrange: from 'b[h]w': axes are letters, numbers, groups in ( ), and ...; a pattern is like 'bhwc', 'b(hw)c', 'b(hp=2)c' or '...c', each letter once
rearrange: from 'b(hw': a ( without a ); a pattern is like 'bhwc', 'b(hw)c', 'b(hp=2)c' or '...c', each letter once
rearrange: attribute reduce is median; it is one of none sum mean max min prod any all
rearrange: to 'bhw=5' gives 'w' the size 5; in x, of shape f32[2,3,4], it has 4; both must be equal
rearrange: axis 1 of x has size 3, and from 'b2w' gives it 2; x has shape f32[2,3,4]; both must be equal
rearrange: from 'bh=w': a size is a number; a pattern is like 'bhwc', 'b(hw)c', 'b(hp=2)c' or '...c', each letter once
rearrange: from 'b......': it has more than one ...; a pattern is like 'bhwc', 'b(hw)c', 'b(hp=2)c' or '...c', each letter once
rearrange: to 'b(h(w))': groups are not nested; a pattern is like 'bhwc', 'b(hw)c', 'b(hp=2)c' or '...c', each letter once
rearrange: axis 0 of x has size n, and from '(a 2)' gives it 2; x has shape f32[n]; the sizes that are given divide it
rearrange: attribute from is 3; it is the axes of the operand in quotes, such as "b(hp=2)c"
