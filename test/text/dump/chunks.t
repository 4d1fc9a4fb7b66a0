# Long reductions in chunks: passes/lower/split_reduction.c, passes/domain/peel.c.

<<< long.vf
graph @long(%x: i64[1580044]) {
  %s = sum %x axes=[0]
  %m = max %x axes=[0]
  return %s, %m
}
>>>
<<< made.vf
graph @made() {
  %x = iota shape=[1580044] axis=0 dtype=i64
  return %x
}
>>>

== 32 chunks are padded in the last one: two are summed up under a mask, and 30 without
$ sed '/max/d; s/, %m//' long.vf | viewfold dump --print-after=peel --target x86-64-v4 - | head -12
\# after peel
index @long_0(p0: i64[32], p1: i64[1580044]) {
  range ridx5 in 0..30
  range ridx1 in 0..49392
  %0 = load p1[(ridx1+(ridx5*49392))] : i64
  %1 = reduce add %0 over ridx1 : i64
  store p0[ridx5] = %1
  range ridx6 in 0..2
  %2 = load p1[(ridx1+(ridx6*49392)+1481760)] if ((ridx1+(ridx6*500))<49392) : i64
  %3 = reduce add %2 over ridx1 : i64
  store p0[(ridx6+30)] = %3
}

== the same of all of it
$ viewfold run made.vf --out x=x.npy; viewfold run long.vf --in x=x.npy; viewfold run --threads 2 long.vf --in x=x.npy
s: i64[] = 1248268730946
m: i64[] = 1580043
s: i64[] = 1248268730946
m: i64[] = 1580043

== short runs of terms, pages apart, are summed up one after the other, and then those of each result
<<< runs.vf
graph @runs(%x: f32[40,70,20,20]) {
  %s = mean %x axes=[0,2,3]
  return %s
}
>>>
$ viewfold dump --print-after=split --target x86-64-v4 runs.vf | grep 'sum'
  %0 = sum %x axes=[2,3] : f32[40,70]
  %1 = sum %0 axes=[0] : f32[70]
$ for s in 10,70,20,20 40,70,3,3; do sed "s/40,70,20,20/$s/" runs.vf | viewfold dump --print-after=split --target x86-64-v4 - | grep -c 'sum'; done
1
1

== a sum of what a scalar was taken from goes over all of memory in chunks, too
<<< all.vf
graph @all(%x: f32[133,107,194]) {
  %y = var %x axes=[0,1,2]
  return %y
}
>>>
$ viewfold dump --print-after=split all.vf | grep -o 'sum .*'
sum %1 axes=[1] : f32[38]
sum %2 axes=[0] : f32[]
sum %10 axes=[1] : f32[38]
sum %11 axes=[0] : f32[]

== the lines of a window that are many are combined in chunks, which threads share
<<< tall.vf
graph @tall(%x: f32[100000,13,5]) {
  %y = sum %x axes=[0,2]
  return %y
}
>>>
$ viewfold explain --no-run tall.vf | grep -m1 'threads share' | cut -d';' -f1
  threads share a loop of 32

== axes of the results that follow one another in memory are one axis of sums in two steps
<<< rows_of_nine.vf
graph @rows_of_nine(%x: f32[128,384,9]) {
  %y = sum %x axes=[0]
  return %y
}
>>>
$ viewfold dump --print-after=split --target x86-64-v4 rows_of_nine.vf
\# after split
graph @rows_of_nine(%x: f32[128,384,9]) {
  %0 = reshape %x shape=[4,32,3456] : f32[4,32,3456]
  %1 = sum %0 axes=[1] : f32[4,3456]
  %2 = sum %1 axes=[0] : f32[3456]
  %y = reshape %2 shape=[384,9] : f32[384,9]
  return %y
}
$ viewfold check rows_of_nine.vf > out

== windows of more terms than an L2 cache has panels of are summed up in chunks of channels, each a product of its own
<<< channels.vf
graph @channels(%x: f32[1,1024,12,12], %w: f32[96,1024,3,3]) {
  %y = conv %x, %w
  return %y
}
>>>
$ viewfold dump --print-after=split channels.vf | grep -o ' sum .*'
 sum %24 axes=[3,6,7] : f32[4,1,96,10,10]
 sum %25 axes=[0] : f32[1,96,10,10]
$ for s in 1024/512 96,/64, 12,12/8,8; do sed "s/${s%/*}/${s#*/}/g" channels.vf | viewfold dump --print-after=split - | grep -c ' sum '; done
1
1
1

== chunks of a product written out are products of which results stay the innermost axis
<<< gradient.vf
graph @gradient(%x: f32[12544,144], %g: f32[12544,32]) {
  %a = unsqueeze %x axis=2
  %b = unsqueeze %g axis=1
  %a1 = expand %a shape=[12544,144,32]
  %b1 = expand %b shape=[12544,144,32]
  %p = mul %a1, %b1
  %y = sum %p axes=[0]
  return %y
}
>>>
$ viewfold dump --print-after=split gradient.vf | grep -Eo ' (mul|sum) .*'
 mul %4, %5 : f32[2,6272,144,32]
 sum %6 axes=[1] : f32[2,144,32]
 sum %7 axes=[0] : f32[144,32]

== axes that follow one another are one axis where their innermost has few folds, or its chunks would lie apart
<<< columns.vf
graph @columns(%x: f32[2000,9,9,4]) {
  %y = sum %x axes=[0,1,2]
  return %y
}
>>>
$ viewfold dump --print-after=split columns.vf | grep -o ' sum .*'
 sum %1 axes=[1] : f32[45,16,4]
 sum %2 axes=[0,1] : f32[4]
$ sed 's/2000,9,9,4/85,174,96,6/' columns.vf | viewfold dump --print-after=split - | grep -o ' sum .*'
 sum %1 axes=[1] : f32[34,16,6]
 sum %2 axes=[0,1] : f32[6]
