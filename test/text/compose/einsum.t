# Sums of products by labels. Values by hand.
<<< einsum.vf
graph @einsum(%x: i32[2,2], %y: i32[2,3], %v: i32[2]) {
  %product = einsum %x, %y equation="ij,jk->ik"
  %transposed = einsum %x equation="ji"
  %diagonal = einsum %x equation="ii->i"
  %trace = einsum %x equation="ii"
  %outer = einsum %v, %v equation="a,b->ba"
  %dot = einsum %v, %v equation="i,i"
  %rows = einsum %y equation="ij->i"
  %scaled = einsum %x, %v equation="ij,j->ij"
  %chain = einsum %x, %y, %v equation="ij,jk,i->k"
  return %product, %transposed, %diagonal, %trace, %outer, %dot, %rows, %scaled, %chain
}
>>>

== matrices
$ viewfold run einsum.vf --in x=[[1,2],[3,4]] --in y=[[1,0,2],[0,1,3]] --in v=[10,-1]
product: i32[2,3] = [[1, 2, 8], [3, 4, 18]]
transposed: i32[2,2] = [[1, 3], [2, 4]]
diagonal: i32[2] = [1, 4]
trace: i32[] = 5
outer: i32[2,2] = [[100, -10], [-10, 1]]
dot: i32[] = 101
rows: i32[2] = [3, 4]
scaled: i32[2,2] = [[10, -2], [30, -4]]
chain: i32[3] = [7, 16, 62]

== an ellipsis broadcasts, sizes of 1 are expanded
<<< batch.vf
graph @batch(%x: i32[2,1,2], %y: i32[3,2], %d: i32[2,2,2]) {
  %a = einsum %x, %y equation="...i,...i->..."
  %b = einsum %x, %y equation="bij,kj->bik"
  %c = einsum %d equation="...ii->i..."
  %e = einsum %x, %y equation="abj,cb->ca"
  return %a, %b, %c, %e
}
>>>
$ viewfold run batch.vf --in x=[[[1,2]],[[3,4]]] --in y=[[1,0],[0,1],[1,1]] --in d=[[[1,2],[3,4]],[[5,6],[7,8]]]
a: i32[2,3] = [[1, 2, 3], [3, 4, 7]]
b: i32[2,1,3] = [[[1, 2, 3]], [[3, 4, 7]]]
c: i32[2,2] = [[1, 5], [4, 8]]
e: i32[3,2] = [[3, 7], [3, 7], [6, 14]]

== a diagonal is a view, also of a symbolic size
<<< diagonal.vf
graph @diagonal(%x: f32[n=1..8,n]) {
  %a = einsum %x equation="ii->i"
  return %a
}
>>>
$ viewfold run diagonal.vf --in x=[[1,2],[3,4]]
a: f32[2] = [1.0, 4.0]
$ viewfold dump --stage=index diagonal.vf
index @diagonal_0(n=1..8, p0: f32[n], p1: f32[(n*n)]) {
  range ridx0 in 0..n
  %0 = load p1[(ridx0+(n*ridx0))] : f32
  store p0[ridx0] = %0
}

== f16 is accumulated in f32
<<< half.vf
graph @half(%x: f16[3]) {
  %a = einsum %x, %x, %x equation="i,i,i->"
  return %a
}
>>>
$ viewfold run half.vf --in x=[60,60,-60]
a: f16[] = inf
$ viewfold run half.vf --in x=[60,-60,2]
a: f16[] = 8.0
