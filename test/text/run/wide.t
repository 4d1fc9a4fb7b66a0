# Views of more than 2^32 elements: expanded ones take no memory.

== elements past 2^32
<<< far.vf
graph @far(%x: i32[3]) {
  %c = reshape %x shape=[3,1]
  %e = expand %c shape=[3,2147483648]
  %f = reshape %e shape=[6442450944]
  %a = shrink %f bounds=[[2147483646,2147483650]]
  %b = shrink %f bounds=[[6442450942,6442450944]]
  %s = stride %f steps=[-1610612736]
  return %a, %b, %s
}
>>>
$ viewfold run far.vf --in x=[5,6,7]
a: i32[4] = [5, 5, 6, 6]
b: i32[2] = [7, 7]
s: i32[4] = [7, 7, 6, 5]

== sums of more than 2^32 elements
<<< sums.vf
graph @sums(%x: u8[1]) {
  %e = expand %x shape=[4294967301]
  %s = sum %e
  %m = max %e
  return %s, %m
}
>>>
$ viewfold run sums.vf --in x=[3]
s: u32[] = 15
m: u8[] = 3

== distant rows, near columns: vector lanes hold 32-bit indices
<<< roll.vf
graph @roll(%x: f32[100000,100000]) {
  %p = pad %x pads=[[0,0],[30,70]] mode=wrap
  %s = shrink %p bounds=[[99000,100000],[0,200]]
  %y = mul %s, 2
  return %y
}
>>>
$ viewfold dump --stage=llvm roll.vf > roll.ll
$ grep -c 'x i64>' roll.ll
0
? 1
$ grep -q 'x i32>\|x float>' roll.ll

== indices of more than 32 bits
<<< far.vf
graph @far(%x: i64[1]) {
  %i = iota shape=[8589934597] dtype=i64
  %s = stride %i steps=[-2147483647]
  %y = add %s, %x
  return %y
}
>>>
$ viewfold run far.vf --in x=[0]
y: i64[5] = [8589934596, 6442450949, 4294967302, 2147483655, 8]
