# Symbolic sizes follow from the shapes of the inputs.

== a symbolic size that is a whole axis
<<< g.vf
graph @g(%x: f32[n=1..64]) {
  %s = sum %x
  %y = div %x, %s
  return %y
}
>>>
$ viewfold run g.vf --in x=[1,1,2]
y: f32[3] = [0.25, 0.25, 0.5]
$ viewfold run g.vf --in x=[2]
y: f32[1] = [1.0]

== the same code for every size
$ viewfold run 'f32[n=2..8:2].reshape(n//2,2)' --in x=[1,2]
y: f32[1,2] = [[1.0, 2.0]]
$ VIEWFOLD_COMPILE=0 viewfold run 'f32[n=2..8:2].reshape(n//2,2)' --in x=[1,2,3,4,5,6]
y: f32[3,2] = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]

== a size within an expression
<<< g.vf
graph @g(%y: f32[n=0..9], %x: f32[2*n+1]) {
  return %y
}
>>>
$ viewfold run g.vf --in x=[1,2,3] --in y=[7]
y: f32[1] = [7.0]
$ viewfold run g.vf --in x=[1,2,3,4] --in y=[7]
! viewfold run: %x is f32[((n*2)+1)], but the value given holds f32[4]: axis 0, ((n*2)+1), has to be 3 by the other sizes
? 2

== a size that follows from an expression alone
<<< g.vf
graph @g(%x: f32[100-3*(n=0..30)]) {
  %i = iota shape=[n] dtype=i32
  %s = sum %x
  return %i, %s
}
>>>
$ viewfold run g.vf --in x=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]
i: i32[28] min 0 max 27 mean 13.5 first 0 1 2 3 4 5 ...
s: f32[] = 136.0
$ viewfold run g.vf --in x=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]
! viewfold run: %x is f32[((n*-3)+100)], but the value given holds f32[17]: no n makes axis 0, ((n*-3)+100), equal to 17
? 2

== a quotient determines the size only where the declared divisor allows
<<< g.vf
graph @g(%x: f32[(n=4..64:4)//4], %y: f32[(m=4..64)//4]) {
  %i = iota shape=[n] dtype=i32
  return %i, %y
}
>>>
$ viewfold run g.vf --in x=[1,2] --in y=[1,2]
! viewfold run: the inputs do not tell the size m; give it as --size m=VALUE
! Try 'viewfold run --help'.
? 2
$ viewfold run g.vf --in x=[1,2] --in y=[1,2] --size m=9
i: i32[8] = [0, 1, 2, 3, 4, 5, 6, 7]
y: f32[2] = [1.0, 2.0]
$ viewfold run g.vf --in x=[1,2] --in y=[1,2] --size m=12
! viewfold run: %y is f32[(m//4)], but the value given holds f32[2]: axis 0, (m//4), has to be 3 by the other sizes
? 2

== two sizes, one after the other
<<< g.vf
graph @g(%x: f32[(n=0..9)+(m=1..9)], %y: f32[n,2], %z: f32[m]) {
  %i = iota shape=[n,m] dtype=i32 axis=1
  return %i, %x, %y, %z
}
>>>
$ viewfold run g.vf --in x=[1,2,3] --in 'y=[[1,2]]' --in z=[1,2]
i: i32[1,2] = [[0, 1]]
x: f32[3] = [1.0, 2.0, 3.0]
y: f32[1,2] = [[1.0, 2.0]]
z: f32[2] = [1.0, 2.0]
$ viewfold run g.vf --in x=[1,2,3,4] --in 'y=[[1,2]]' --in z=[1,2]
! viewfold run: %x is f32[(m+n)], but the value given holds f32[4]: axis 0, (m+n), has to be 3 by the other sizes
? 2

== a product of sizes that are differences
<<< g.vf
graph @g(%y: i64[n=2..3,n,n]) {
  %s = stride %y steps=[-3,2,2]
  %v = reshape %s shape=[1,1,n-1,n-1]
  %e = expand %v shape=[6,n,n-1,n-1]
  %r = reshape %e shape=[-1]
  return %r
}
>>>
$ viewfold run g.vf --in y=[[[1,2],[3,4]],[[5,6],[7,8]]]
r: i64[12] = [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5]

== a kernel whose thread blocks are along an empty axis does nothing
<<< transpose.vf
graph @transpose(%x: f32[n=0..1000,64,64], %b: f32[m=0..1,64,64]) {
  %y = permute %x order=[0,2,1]
  %c = permute %b order=[0,2,1]
  return %y, %c
}
>>>
$ printf '\223NUMPY\1\0v\0{"descr":"<f4","fortran_order":False,"shape":(0,64,64)}%62s\n' '' > x.npy
$ viewfold run transpose.vf --in x=x.npy --in b=x.npy
y: f32[0,64,64] = []
c: f32[0,64,64] = []

== argmax where only the size is symbolic
<<< place.vf
graph @place(%y: u16[m=1..3]) {
  %p = pad %y pads=[[1,1]]
  %a = argmax %p axis=0
  return %a
}
>>>
$ viewfold run place.vf --in y=[1,2]
a: i64[] = 2
