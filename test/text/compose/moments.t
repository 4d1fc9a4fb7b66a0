# Variance, standard deviation and the normalisations that use them. Values by hand.
<<< moments.vf
graph @moments(%x: f32[2,4]) {
  %v = var %x axes=[1]
  %s = var %x axes=[1] correction=1 keepdims=true
  %d = std %x axes=[0]
  %o = std %x axes=[]
  return %v, %s, %d, %o
}
>>>

== of a population and of a sample
$ viewfold run moments.vf --in x=[[1,3,1,3],[2,2,2,8]]
v: f32[2] = [1.0, 6.75]
s: f32[2,1] = [[1.3333334], [9.0]]
d: f32[4] = [0.5, 0.5, 0.5, 2.5]
o: f32[2,4] = [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]

== no cancellation where the mean is far from zero
$ viewfold run moments.vf --in x=[[1048577,1048579,1048577,1048579],[0,0,0,0]]
v: f32[2] = [1.0, 0.0]
s: f32[2,1] = [[1.3333334], [0.0]]
d: f32[4] = [524288.5, 524289.5, 524288.5, 524289.5]
o: f32[2,4] = [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]

== a symbolic size; one element has no sample variance
<<< sized.vf
graph @sized(%x: f32[n=0..8]) {
  %v = var %x correction=1
  %w = var %x
  return %v, %w
}
>>>
$ viewfold run sized.vf --in x=[1,3,5]
v: f32[] = 4.0
w: f32[] = 2.6666667
$ viewfold run sized.vf --in x=[7]
v: f32[] = nan
w: f32[] = 0.0

== integers, and f16 whose sum exceeds its range
<<< dtypes.vf
graph @dtypes(%i: u8[4], %h: f16[2]) {
  %v = var %i
  %s = std %h
  return %v, %s
}
>>>
$ viewfold run dtypes.vf --in i=[0,0,255,255] --in h=[-60000,60000]
v: f32[] = 16256.25
s: f16[] = 60000.0

== layer_norm: over the last axis, and over all
<<< layer.vf
graph @layer(%x: f32[2,2], %w: f32[2], %b: f32[2]) {
  %r = layer_norm %x eps=0
  %y = layer_norm %x, %w, %b eps=0
  %a = layer_norm %x, %w axis=0 eps=6.5
  return %r, %y, %a
}
>>>
$ viewfold run layer.vf --in x=[[1,3],[-4,4]] --in w=[10,100] --in b=[0.5,-0.5]
r: f32[2,2] = [[-1.0, 1.0], [-1.0, 1.0]]
y: f32[2,2] = [[-9.5, 99.5], [-9.5, 99.5]]
a: f32[2,2] = [[0.0, 50.0], [-12.5, 75.0]]

== the root mean square
<<< rms.vf
graph @rms(%x: f32[2,2], %w: f32[1]) {
  %r = rms_norm %x eps=0
  %y = rms_norm %x, %w axis=0 eps=1.5
  return %r, %y
}
>>>
$ viewfold run rms.vf --in x=[[2,-2],[7,1]] --in w=[2]
r: f32[2,2] = [[1.0, -1.0], [1.4, 0.2]]
y: f32[2,2] = [[1.0, -1.0], [3.5, 0.5]]

== a weight of the wrong shape
<<< bad.vf
graph @bad(%x: f32[2,3], %w: f32[2]) {
  %y = layer_norm %x, %w
  return %y
}
>>>
$ viewfold run bad.vf --in x=[[1,2,3],[1,2,3]] --in w=[1,2]
! bad.vf:2:3: error: layer_norm: the weight has shape f32[2]; x has shape f32[2,3], normalised over its last 1 axis; the sizes of a weight are those of these axes, or 1
? 2
