# The first element of a sort is found without sorting.
<<< first.vf
graph @greatest(%x: f32[79,290]) {
  %v, %i = topk %x k=1 axis=1
  return %v, %i
}
graph @least(%x: i32[79,290]) {
  %v, %i = topk %x k=1 axis=1 largest=false
  return %v, %i
}
graph @nan_last(%x: f32[79,290]) {
  %v, %i = topk %x k=1 axis=1 largest=false
  return %v, %i
}
>>>

== by argmax, and argmin of integers
$ viewfold dump --stage=kernels --graph greatest first.vf | grep -c 'fuses .*argmax'
1
$ viewfold dump --stage=kernels --graph least first.vf | grep -c 'fuses .*argmin'
1

== argmin would find a NaN, which ascending sorts put last
$ viewfold dump --stage=kernels --graph nan_last first.vf | grep -c 'fuses .*argmin'
0
? 1

== of equals it is the first, of zeros too, and of NaNs
<<< equal.vf
graph @equal(%x: f32[3,5]) {
  %v, %i = topk %x k=1 axis=1
  return %i
}
>>>
$ viewfold run equal.vf --in 'x=[[-0.0,0.0,-1,0,-2],[2,nan,nan,-inf,inf],[1,3,3,2,2]]'
i: i64[3,1] = [[0], [1], [1]]

== what has one element along its axis is sorted already
<<< one.vf
graph @one(%x: f32[1,64], %n: f32[n=0..1,8]) {
  %v, %i = topk %x k=1 axis=0
  %s = sort %n axis=0
  %r = neg %v
  %t = neg %s
  return %r, %i, %t
}
>>>
$ viewfold dump --stage=kernels one.vf | grep -e sort -e kernel
graph @one: 3 kernels, 0 temporaries
kernel 0 -> %i i64[1,64]
kernel 1 -> %r f32[1,64]
kernel 2 -> %t f32[n,8]
