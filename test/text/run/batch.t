# Graphs whose values have batch axes.
<<< rows.vf
graph @rows(%x: f32[2,3|4], %w: f32[3|4]) {
  %p = mul %x, %w
  %s = sum %p axes=[0]
  return %s
}
>>>

== the batch axes of arrays come first
$ viewfold run rows.vf --in 'x=[[[1,2,3,4],[5,6,7,8],[9,1,2,3]],[[0,1,0,0],[0,0,1,0],[0,0,0,1]]]' \
>   --in 'w=[[1,1,1,1],[2,0,0,0],[0,0,0,3]]' --check
s: f32[2,3] = [[10.0, 10.0, 9.0], [1.0, 0.0, 3.0]]
check s: 6 elements, bit-equal

== an array without its batch axes does not match
$ viewfold run rows.vf --in 'x=[1,2,3,4]' --in 'w=[[1,1,1,1],[2,0,0,0],[0,0,0,3]]'
! viewfold run: %x is f32[2,3|4], but the value given holds f32[4]: 1 axis found, 3 expected
? 2

== sizes of a batch may be variables
<<< any.vf
graph @any(%x: f32[n=1..8|2]) {
  %i = incr_batch_dims %x
  %y = add %i, 1.0
  %z = decr_batch_dims %y
  return %z
}
>>>
$ viewfold run any.vf --in 'x=[[1,2],[3,4],[5,6]]'
z: f32[3,2] = [[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]
$ viewfold dump --stage=graph any.vf
graph @any(%x: f32[n=1..8|2]) {
  %0 = rebatch %x batch_dims=2 : f32[n,2|]
  %1 = add %0, 1.0 : f32[n,2|]
  %z = rebatch %1 batch_dims=1 : f32[n|2]
  return %z
}

== the first pass makes them ordinary axes
$ viewfold dump --print-after=physicalize rows.vf
\# after physicalize
graph @rows(%x: f32[2,3,4], %w: f32[3,4]) {
  %0 = reshape %w shape=[1,3,4] : f32[1,3,4]
  %1 = expand %0 shape=[2,3,4] : f32[2,3,4]
  %2 = mul %x, %1 : f32[2,3,4]
  %s = sum %2 axes=[2] : f32[2,3]
  return %s
}
$ viewfold dump --print-after=physicalize rows.vf | grep -v '^#' > physical.vf
$ viewfold dump --stage=loops physical.vf > one
$ viewfold dump --stage=loops rows.vf | diff one -

== indices that differ within the batch
<<< take.vf
graph @take(%x: f32[4], %i: i32[2|2]) {
  %y = gather %x, %i
  return %y
}
>>>
$ viewfold run take.vf --in 'x=[10,20,30,40]' --in 'i=[[3,0],[-1,1]]' --check
y: f32[2,2] = [[40.0, 10.0], [40.0, 20.0]]
check y: 4 elements, bit-equal
$ viewfold run take.vf --in 'x=[10,20,30,40]' --in 'i=[[3,0],[4,1]]'
! viewfold run: graph @take: gather %x, %i: %i[0] is 4, but axis 0 of %x has 4 elements (take.vf:2); indices are -4 to 3, or any with mode="clip" or mode="fill". The results are unspecified
? 2

== batches that do not align
<<< bad.vf
graph @bad(%x: f32[2|4], %w: f32[3|4]) {
  %p = mul %x, %w
  return %p
}
>>>
$ viewfold dump --stage=graph bad.vf
! bad.vf:2:3: error: mul: batches of f32[2|4] and f32[3|4] do not align: size 2 meets 3; batch axes align at the end (the innermost vmap comes first), and their sizes must be equal or 1
? 2

== invalid types
$ printf 'graph @f(%%x: f32[2|3|4]) {\n return %%x\n}\n' > two.vf && viewfold dump --stage=graph two.vf
! two.vf:1:21: error: bad shape, found '|', expected ',' or ']', as in f32[2,3]
? 2
$ printf 'graph @f(%%x: f32[|4]) {\n return %%x\n}\n' > none.vf && viewfold dump --stage=graph none.vf
! none.vf:1:[..] error: [..]
? 2
$ printf 'graph @f(%%x: f32[2|4]) {\n %%y = neg %%x : f32[4]\n return %%y\n}\n' > wrong.vf && viewfold dump --stage=graph wrong.vf
! wrong.vf:2:[..] error: wrong type of '%y', found f32[4], expected f32[2|4]
? 2
$ viewfold index 'f32[2|4].flip(0)'
! [..] error: bad shape, found '|', expected ',' or ']', as in f32[2,3]
? 2
