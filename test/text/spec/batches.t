# The worked numbers of the specification's views, under batching.

== axes of batched values, counted from either end
# spec: V10.batch V3
<<< axes.vf
graph @axes(%x: i32[2|3]) {
  %last = unsqueeze %x axis=-1 : i32[2|3,1]
  %first = unsqueeze %x axis=0 : i32[2|1,3]
  %lowest = unsqueeze %x axis=-2 : i32[2|1,3]
  %sum = sum %x axis=0 : i32[2|]
  %back = sum %x axis=-1 : i32[2|]
  return %last, %first, %lowest, %sum, %back
}
>>>
<<< over.vf
graph @over(%x: i32[2|3]) {
  %y = unsqueeze %x axis=-3
  return %y
}
>>>
$ viewfold run axes.vf --in x=[[0,1,2],[3,4,5]]
last: i32[2,3,1] = [[[0], [1], [2]], [[3], [4], [5]]]
first: i32[2,1,3] = [[[0, 1, 2]], [[3, 4, 5]]]
lowest: i32[2,1,3] = [[[0, 1, 2]], [[3, 4, 5]]]
sum: i32[2] = [3, 12]
back: i32[2] = [3, 12]
$ viewfold dump --stage=graph over.vf
! over.vf:2:3: error: unsqueeze: axis -3 is out of range; [..]
? 2

== squeezing all axes of size 1 leaves batch axes
# spec: V11.batch
<<< drop.vf
graph @drop(%x: i32[1|3,1]) {
  %y = squeeze %x : i32[1|3]
  return %y
}
>>>
$ viewfold run drop.vf --in x=[[[7],[8],[9]]]
y: i32[1,3] = [[7, 8, 9]]
