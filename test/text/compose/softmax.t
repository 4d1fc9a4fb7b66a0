# Softmax, its logarithm, and the logarithm of a sum of exponentials. Values by hand: rows of equal numbers, of logarithms
# of 1, 2, 4, 8, and of infinities.
<<< rows.vf
graph @rows(%x: f32[3,2]) {
  %s = softmax %x axis=1
  %l = log_softmax %x
  %z = logsumexp %x axes=[1]
  return %s, %l, %z
}
>>>

== equal numbers have equal results; large ones do not overflow
$ viewfold run rows.vf --in x=[[5,5],[10000,10000],[-10000,10000]]
s: f32[3,2] = [[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]]
l: f32[3,2] = [[-0.6931472, -0.6931472], [-0.6931472, -0.6931472], [-20000.0, 0.0]]
z: f32[3] = [5.693147, 10000.693, 10000.0]

== infinities
$ viewfold run rows.vf --in x=[[-inf,-inf],[inf,0],[-inf,3]]
s: f32[3,2] = [[nan, nan], [nan, nan], [0.0, 1.0]]
l: f32[3,2] = [[nan, nan], [nan, nan], [-inf, 0.0]]
z: f32[3] = [-inf, inf, 3.0]

== a NaN affects only its row
$ viewfold run rows.vf --in x=[[nan,0],[0,0],[1,1]]
s: f32[3,2] = [[nan, nan], [0.5, 0.5], [0.5, 0.5]]
l: f32[3,2] = [[nan, nan], [-0.6931472, -0.6931472], [-0.6931472, -0.6931472]]
z: f32[3] = [nan, 0.6931472, 1.6931472]

== along the first axis, of integers, and of f16, rounded once
<<< other.vf
graph @other(%i: i32[2,2], %h: f16[3]) {
  %s = softmax %i axis=0
  %t = softmax %h
  %z = logsumexp %i keepdims=true
  return %s, %t, %z
}
>>>
$ viewfold run other.vf --in i=[[3,100],[3,-100]] --in h=[7,7,7]
s: f32[2,2] = [[0.5, 1.0], [0.5, 0.0]]
t: f16[3] = [0.3333, 0.3333, 0.3333]
z: f32[1,1] = [[100.0]]

== an axis that may be empty
<<< empty.vf
graph @empty(%x: f32[n=0..4]) {
  %s = softmax %x
  return %s
}
>>>
$ viewfold run empty.vf --in x=[1,2]
! empty.vf:2:3: error: softmax: axis 0 has size n; x has shape f32[n]; the minimum or maximum of no elements is undefined: each reduced size must be at least 1; needs n >= 1, known: 0 <= n <= 4; declare n=1..4
? 2
