# Scatters, and gathers with batch axes. Values are those of spec.md, V22 and V23, and others by hand.
<<< v23.vf
graph @v23(%x: i32[4,2], %u: i32[2,2], %z: i32[2,4], %w: i32[2,2], %t: i32[3], %v: i32[2]) {
  %i = data values=[3,1]
  %j = data values=[1,3]
  %k = data values=[1,1]
  %a = scatter %x, %i, %u
  %b = scatter %z, %j, %w axis=1
  %c = scatter %t, %k, %v
  %d = scatter_add %t, %k, %v
  return %a, %b, %c, %d
}
>>>
<<< none.vf
graph @none(%x: f16[2,3], %i: i32[0], %u: f16[2,0]) {
  %a = scatter_add %x, %i, %u axis=1
  %b = scatter %x, %i, %u axis=1
  %c = neg %a
  %d = sub %b, %c
  return %d
}
>>>
<<< one.vf
graph @one(%x: f32[4,2], %i: i64[3], %u: f32[3,2]) {
  %a = scatter_add %x, %i, %u
  return %a
}
>>>

== stored; of two updates of one element the last; added
$ viewfold run v23.vf --in x=[[0,1],[2,3],[4,5],[6,7]] --in u=[[100,101],[102,103]] --in z=[[0,1,2,3],[4,5,6,7]] --in w=[[101,100],[103,102]] --in t=[0,1,2] --in v=[7,8] --check
a: i32[4,2] = [[0, 1], [102, 103], [4, 5], [100, 101]]
b: i32[2,4] = [[0, 101, 2, 100], [4, 103, 6, 102]]
c: i32[3] = [0, 8, 2]
d: i32[3] = [0, 16, 2]
check a: 8 elements, bit-equal
check b: 8 elements, bit-equal
check c: 3 elements, bit-equal
check d: 3 elements, bit-equal

== one launch copies, one updates: vector lanes are along another axis than the indices
$ viewfold dump --stage=loops one.vf
\# kernel 0 nest 0: split a0 8; vector a0.1
kernel @one_0(p0: f32[8], p1: f32[8]) {
  for ridx5 in 0..1 thread {
    for ridx7 in 0..8 vector {
      %0 = load p1[ridx7] : f32
      store p0[ridx7] = %0
    }
  }
}
\
\# kernel 1 nest 0: split a0 2; reorder a0.0 a1 a0.1; vector a0.1
kernel @one_1(p0: f32[8], p1: i64[3], p2: f32[6]) {
  %0 = cast (4) dtype=i64 : i64
  %1 = neg %0 : i64
  for ridx2 in 0..1 thread {
    for ridx3 in 0..3 {
      %2 = load p1[ridx3] : i64
      %3 = bound %2, (4), true : index
      %4 = (%3*2) : index
      %5 = lt %2, %0 : bool
      %6 = ge %2, %1 : bool
      %7 = (%5&%6) : bool
      %8 = (ridx3*2) : index
      for ridx5 in 0..2 vector {
        %9 = load p2[(%8+ridx5)] : f32
        update p0[(ridx5+%4)] add %9 if %7 over ridx3
      }
    }
  }
}

== of longer rows several vectors are updated together: indices and their tests are computed once for all
<<< rows.vf
graph @rows(%x: f32[20,64], %i: i64[100], %u: f32[100,64]) {
  %y = scatter_add %x, %i, %u
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=32 registers=16' rows.vf | grep -A2 'unroll {'
        for ridx7 in 0..4 unroll {
          %10 = (ridx7*8) : index
          for ridx8 in 0..8 vector {
$ viewfold check rows.vf > out

== what is left of rows past whole vectors is in the same loop over updates, which goes over memory once
<<< odd.vf
graph @odd(%x: f32[20,89], %i: i64[400], %u: f32[400,89]) {
  %y = scatter_add %x, %i, %u
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=32 registers=16' odd.vf | sed -n '/kernel 1/,$p' | grep -E 'for|update'
  for ridx3 in 0..400 {
    for ridx2 in 0..5 thread {
      for ridx4 in 0..2 {
        for ridx6 in 0..8 vector {
          update p0[(%11+%12+ridx6+%4)] add %13 if %7 over ridx3
      for ridx7 in 0..max(((ridx2*-1)+1), 0) {
        for ridx10 in 0..8 vector {
          update p0[(ridx10+%4+80)] add %14 if %7 over ridx3
        update p0[%9] add %10 if %7 over ridx3
$ viewfold check odd.vf > out

== indices out of range: an error, clipped, left out
<<< modes.vf
graph @modes(%i: i32[3]) {
  %x = data values=[0,0,0,0] dtype=i32
  %u = data values=[1,2,4] dtype=i32
  %c = scatter_add %x, %i, %u mode=clip
  %f = scatter_add %x, %i, %u mode=fill
  %s = scatter %x, %i, 9 mode=fill
  return %c, %f, %s
}
>>>
$ viewfold run modes.vf --in i=[-5,4,-1] --check
c: i32[4] = [1, 0, 0, 6]
f: i32[4] = [0, 0, 0, 4]
s: i32[4] = [0, 0, 0, 9]
check c: 4 elements, bit-equal
check f: 4 elements, bit-equal
check s: 4 elements, bit-equal
$ viewfold run one.vf --in x=[[0,0],[0,0],[0,0],[0,0]] --in i=[0,4,1] --in u=[[1,1],[1,1],[1,1]]
! viewfold run: graph @one: scatter_add %x, %i, %u: %i[1] is 4, but axis 0 of %x has 4 elements (one.vf:2); indices are -4 to 3, or any with mode="clip" or mode="fill". The results are unspecified
? 2

== an index out of range is an error where the data is the same at all indices, too
<<< same.vf
graph @broadcast(%x: f32[1,2], %i: i64[3]) {
  %b = expand %x shape=[4,2]
  %r = take %b, %i axis=0
  return %r
}
graph @constant(%i: i32[3]) {
  %c = full value=7.0 shape=[4]
  %r = take %c, %i axis=0
  %s = sum %r
  return %s
}
graph @one(%x: f32[1,2], %i: u64[3]) {
  %r = take %x, %i axis=0
  return %r
}
>>>
$ viewfold run same.vf --graph broadcast --in x=[[1,2]] --in i=[0,-4,3] --check
r: f32[3,2] = [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]
check r: 6 elements, bit-equal
$ viewfold run same.vf --graph broadcast --in x=[[1,2]] --in i=[0,-4,4]
! viewfold run: graph @broadcast: take %b, %i axis=0: %i[2] is 4, but axis 0 of %b has 4 elements (same.vf:3); indices are -4 to 3, or any with mode="clip" or mode="fill". The results are unspecified
? 2
$ viewfold run same.vf --graph constant --in i=[0,-4,3] --check
s: f32[] = 21.0
check s: 1 element, bit-equal
$ viewfold run same.vf --graph constant --in i=[0,-5,3]
! viewfold run: graph @constant: take %c, %i axis=0: %i[1] is -5, but axis 0 of %c has 4 elements (same.vf:8); indices are -4 to 3, or any with mode="clip" or mode="fill". The results are unspecified
? 2
$ viewfold run same.vf --graph one --in x=[[1,2]] --in i=[0,0,1]
! viewfold run: graph @one: take %x, %i axis=0: %i[2] is 1, but axis 0 of %x has 1 element (same.vf:13); indices are 0 to 0, or any with mode="clip" or mode="fill". The results are unspecified
? 2

== clipping to an empty axis is an error
<<< empty.vf
graph @empty(%x: f32[n=0..3], %i: i64[k=0..3]) {
  %a = gather %x, %i mode=clip
  return %a
}
>>>
$ viewfold run empty.vf --in x=[5] --in i=[-2,3] --check
a: f32[2] = [5.0, 5.0]
check a: 2 elements, bit-equal
$ viewfold run empty.vf --in x=[] --in i=[1]
! viewfold run: graph @empty: gather %x, %i mode=clip: %i[0] is 1, but axis 0 of %x has 0 elements (empty.vf:2); no index is valid without mode="fill". The results are unspecified
? 2

== sums of f16 are rounded once: 2048 and three ones
<<< half.vf
graph @half(%x: f16[1]) {
  %i = data values=[0,0,0]
  %a = scatter_add %x, %i, 1
  return %a
}
>>>
$ viewfold run half.vf --in x=[2048] --check
a: f16[1] = [2052.0]
check a: 1 element, bit-equal

== batch axes, symbolic sizes, empty axes
<<< rows.vf
graph @rows(%x: i32[n=0..3,m=0..4], %i: i64[n,k=0..3], %u: i32[n,k]) {
  %g = gather %x, %i axis=1 batch=1 mode=fill
  %s = scatter_add %x, %i, %u axis=1 batch=1 mode=clip
  return %g, %s
}
>>>
$ viewfold run rows.vf --in x=[[0,1,2,3],[4,5,6,7]] --in i=[[2,-4,9],[1,1,0]] --in u=[[10,20,30],[40,50,60]] --check
g: i32[2,3] = [[2, 0, 0], [5, 5, 4]]
s: i32[2,4] = [[20, 1, 12, 33], [64, 95, 6, 7]]
check g: 6 elements, bit-equal
check s: 8 elements, bit-equal

== one bool for all lanes of an update
<<< truth.vf
graph @truth(%t: bool[1,1]) {
  %i = data shape=[2,2] dtype=i64 values=[1,-1,-1,0]
  %r = reshape %t shape=[1,1,1,1]
  %x = expand %r shape=[1,2,2,2]
  %q = reshape %t shape=[1,1,1]
  %y = expand %q shape=[1,2,2]
  %s = scatter %y, %i, %x axis=1
  return %s
}
>>>
$ viewfold run truth.vf --in t=[[true]] --check
s: bool[1,2,2] = [[[true, true], [true, true]]]
check s: 4 elements, bit-equal

== without updates the result is a copy, without a launch for updates
$ viewfold dump --stage=kernels none.vf
graph @none: 1 kernel, 0 temporaries
[...]
$ viewfold run none.vf --in x=[[0,1,2],[3,4,5]] --in i=[] --in u=[[],[]] --check
d: f16[2,3] = [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
check d: 6 elements, bit-equal
