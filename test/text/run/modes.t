# Boundary modes, fills and literal gathers are views: one kernel, no intermediates.

== modes, as numpy.pad has them
$ viewfold run 'f32[4].pad((2,3),mode=edge)' --in x=[1,2,3,4] --check
y: f32[9] = [1.0, 1.0, 1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 4.0]
check y: 9 elements, bit-equal
$ viewfold run 'f32[4].pad((2,3),mode=reflect)' --in x=[1,2,3,4] --check
y: f32[9] = [3.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0]
check y: 9 elements, bit-equal
$ viewfold run 'f32[4].pad((2,3),mode=wrap)' --in x=[1,2,3,4] --check
y: f32[9] = [3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0]
check y: 9 elements, bit-equal
$ viewfold run 'f32[4].pad((2,3),value=-0.5)' --in x=[1,2,3,4] --check
y: f32[9] = [-0.5, -0.5, 1.0, 2.0, 3.0, 4.0, -0.5, -0.5, -0.5]
check y: 9 elements, bit-equal

== padding wider than the axis: reflected and wrapped repeatedly
$ viewfold run 'i8[3].pad((5,7),mode=reflect)' --in x=[1,2,3] --check
y: i8[15] = [2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2]
check y: 15 elements, bit-equal
$ viewfold run 'i8[3].pad((4,4),mode=wrap)' --in x=[1,2,3] --check
y: i8[11] = [3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1]
check y: 11 elements, bit-equal
$ viewfold run 'i8[1].pad((2,2),mode=reflect)' --in x=[9] --check
y: i8[5] = [9, 9, 9, 9, 9]
check y: 5 elements, bit-equal

== a gather inside a chain
$ viewfold run 'i32[3,2].gather(0,[2,0,-1]).permute(1,0).pad((0,0),(1,1),value=7)' --in x=[[1,2],[3,4],[5,6]] --check
y: i32[2,5] = [[7, 5, 1, 5, 7], [7, 6, 2, 6, 7]]
check y: 10 elements, bit-equal

== all of them fuse with any operations around them
<<< one.vf
graph @one(%x: f32[n=3..9,5]) {
  %a = pad %x pads=[[2,4],[1,1]] mode=reflect
  %i = data shape=[3] dtype=i64 values=[2,0,2]
  %b = gather %a, %i axis=1
  %c = pad %b pads=[[1,0],[2,2]] mode=wrap
  %d = add %c, 1
  %e = pad %d pads=[[0,0],[1,0]] value=-2.5
  %f = permute %e order=[1,0]
  %g = pad %f pads=[[1,1],[0,3]] mode=edge
  %h = pad %g pads=[[1,0],[0,0]] value=inf
  return %h
}
>>>
$ viewfold dump --stage=kernels one.vf | grep -c '^kernel'
1
$ viewfold run one.vf --in 'x=[[1,2,3,4,5],[6,7,8,9,10],[11,12,13,14,15]]' --check
h: f32[11,13] min -2.5 max inf mean inf first inf inf inf inf inf inf ...
check h: 143 elements, bit-equal
$ VIEWFOLD_COMPILE=0 viewfold run one.vf --in 'x=[[1,2,3,4,5],[6,7,8,9,10],[11,12,13,14,15],[1,2,3,4,5],[6,7,8,9,10]]' --check
h: f32[11,15] min -2.5 max inf mean inf first inf inf inf inf inf inf ...
check h: 165 elements, bit-equal
