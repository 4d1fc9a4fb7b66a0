# VIEWFOLD_DEBUG=nan,inf: a run stops at the first operation that makes a NaN, or an infinity.
<<< net.vf
graph @net(%a: f32[4], %b: f32[4], %m: f32[4]) {
  %s = sub %a, %b
  %l = log %s
  %z = gt %s, 0.0
  %w = where %z, %l, 0.0
  %c = div %w, %m
  %e = exp %c
  %t = sum %e
  return %t
}
>>>
<<< soft.vf
graph @soft(%x: f32[2,3], %mask: f32[2,3]) {
  %s = add %x, %mask
  %y = softmax %s axis=1
  return %y
}
>>>
<<< loop.vf
graph @step(%s: f32[2], %d: f32[2]) {
  %n = div %s, %d
  return %n
}
graph @loop(%s: f32[2], %ds: f32[3,2]) {
  %y = scan %s, %ds do=@step
  return %y
}
>>>
<<< ref.vf
graph @ref(%state: ref f32[2], %x: f32[2]) {
  %r = sqrt %x
  %n = add %state, %r
  assign %state, %n
  return %r
}
>>>

== nothing is said of the branch that is not chosen
$ VIEWFOLD_DEBUG=nan,inf viewfold run net.vf --in a=[1,2,3,4] --in b=[0,3,0,0] --in m=[1,1,1,1]
t: f32[] = 9.0

== the operation, its line, the element and what it was made from
$ VIEWFOLD_DEBUG=nan,inf viewfold run net.vf --in a=[1,2,3,4] --in b=[0,3,0,0] --in m=[1,1,0,1]
! viewfold run: graph @net: %c = div %w, %m (net.vf:6) makes an infinity: %c[2] is inf, where %w[2] is 1.0986123 and %m[2] is 0.0
? 1
$ VIEWFOLD_DEBUG=nan viewfold run net.vf --in a=[1,2,3,4] --in b=[0,3,0,0] --in m=[1,0,1,1]
! viewfold run: graph @net: %c = div %w, %m (net.vf:6) makes a NaN: %c[1] is nan, where %w[1] is 0.0 and %m[1] is 0.0
? 1

== an infinity of the input is no fault, but what comes of it is
$ VIEWFOLD_DEBUG=nan,inf viewfold run soft.vf --in x=[[1,2,3],[4,5,6]] --in mask=[[0,0,-inf],[0,0,0]]
y: f32[2,3] = [[0.26894143, 0.7310586, 0.0], [0.09003057, 0.24472848, 0.66524094]]
$ VIEWFOLD_DEBUG=nan,inf viewfold run soft.vf --in x=[[1,2,3],[4,5,6]] --in mask=[[-inf,-inf,-inf],[0,0,0]]
! viewfold run: graph @soft: softmax %s axis=1 (soft.vf:3) makes a NaN: its sub[0,0] is nan, where %s[0,0] is -inf and its expand[0,0] is -inf
? 1

== in the body of a loop
$ VIEWFOLD_DEBUG=nan viewfold run loop.vf --in s=[1,0] --in ds=[[1,1],[1,0],[1,1]]
! viewfold run: graph @loop: %n = div %s, %d (loop.vf:2) makes a NaN: %n[1] is nan, where %s[1] is 0.0 and %d[1] is 0.0
? 1

== sums that are too large
$ VIEWFOLD_DEBUG=inf viewfold run 'f32[3]' --in x=[1,inf,2]
y: f32[3] = [1.0, inf, 2.0]

== partial sums overflow, where sums in the order of the elements do not
<<< alternating.vf
graph @elements() {
  %i = iota dtype=i32 shape=[256] axis=0
  %odd = mod %i, 2
  %first = eq %odd, 0
  %x = where %first, 3e38, -3e38
  %y = cast %x dtype=f32
  return %y
}
graph @total(%x: f32[256]) {
  %y = sum %x
  return %y
}
>>>
$ viewfold run --graph elements alternating.vf --out y=x.npy
$ VIEWFOLD_DEBUG=nan,inf viewfold run --graph total alternating.vf --in x=x.npy
! viewfold run: graph @total: launch 1 of 1 (vf_add_f32_[..]) made a NaN from arrays that have none; the results are unspecified
? 1
