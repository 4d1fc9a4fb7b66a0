# What a kernel is compared with: a value in it that is stored instead, by the predicted times of both.

<<< joined.vf
graph @joined(%x: i64[1,3,28,28], %y: i64[1,3,28,28], %z: f32[1,3,28,28], %w: i64[1,3,3,3]) {
  %i = cast %z dtype=i64
  %j = concat %i, %x, %y axis=0
  %c = conv %j, %w stride=2 padding=1
  return %c
}
>>>
<<< columns.vf
graph @columns(%x: f32[144,768], %w: f32[768,1]) {
  %s = sqrt %x
  %m = matmul %s, %w
  return %m
}
>>>
<<< kernels.sh
viewfold explain --no-run --target "vector_bytes=64 registers=32 l1=32768 l2=1048576 l3=33554432 $2" $1 |
  grep -E '^(kernel|  (stored|fused) )|predicted'
>>>

== what windows read under masks is stored where the loops over it are far from the least time
$ sh kernels.sh joined.vf lanes=0
kernel 0 -> temporary 0 of %c i64[3,3,30,30]
  why     stored, because two kernels are predicted to take less time than one
  stored  pad i64[3,3,30,30]: 0.00[..] ms, against 0.0[..] ms fused, both predicted
kernel 1 -> %c i64[3,1,14,14]
  fused   permute i64[3,3,3,14,30]: 0.00[..] ms, against 0.00[..] ms or more stored, both predicted

== what was compared and is slower stays fused
$ sh kernels.sh columns.vf lanes=0
kernel 0 -> %m f32[144,1]
  fused   sqrt f32[144,768]: [..] ms, against [..] ms stored, both predicted

== no loops are made of a value so large that moving it alone takes longer
<<< depthwise.vf
graph @c(%x: f32[8,128,56,56], %w: f32[128,1,3,3]) {
  %y = conv %x, %w padding=[1,1] groups=128
  return %y
}
>>>
$ sh kernels.sh depthwise.vf lanes=0
kernel 0 -> %y f32[8,128,56,56]
  fused   permute f32[8,128,3,56,58]: 1.[..] ms, against 3.[..] ms or more stored, both predicted

== work-items of a device are not compared
$ sh kernels.sh joined.vf 'lanes=64 local=65536'
kernel 0 -> %c i64[3,1,14,14]

== windows whose results views take in short rows: the order of their few terms is told, so the two forms compare
<<< pool.vf
graph @pool(%x: f32[2,64,14,14]) {
  %a = avg_pool %x kernel=[2,2] stride=[1,2] padding=[1,1]
  %r = reshape %a shape=[2,64,15,4,2]
  %y = permute %r order=[0,3,1,2,4]
  return %y
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32 l3=33554432' pool.vf | grep '^kernel\|^  stored '
kernel 0 -> temporary 1 of %a f32[2,64,16,16]
  stored  pad f32[2,64,16,16]: [..] ms, against [..] ms fused, both predicted
kernel 1 -> %a f32[2,64,15,8]
  stored  div f32[2,64,15,8]: [..] ms, against [..] ms fused, both predicted
kernel 2 -> %y f32[2,4,64,15,2]

== what a reduction over an axis outside of short rows computes is stored, and computed in whole vectors
<<< argmin.vf
graph @g(%x: f32[16,7,7]) {
  %t = erf %x
  %s = tanh %t
  %y = argmin %s axis=1
  return %y
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32 l3=33554432' argmin.vf | grep -c '^  stored  tanh'
1

== what a product without a register tile computes for each of its terms is stored
<<< narrow.vf
graph @g(%x: f64[144,768], %w: i8[768,4]) {
  %m = mul %x, 20.0
  %c = clip %m low=-100.0 high=100.0
  %i = cast %c dtype=i8
  %y = matmul %i, %w
  return %y
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32 l3=33554432' narrow.vf | grep -c '^  stored  cast'
1

== a value that a row group computes from another one is stored, and one kernel computes both
<<< after.vf
graph @g(%x: f32[2,128,4,4], %z: f32[2,128,4,4]) {
  %s = sin %x
  %m = max %s, %z
  %y = avg_pool %m kernel=[3,3] stride=[1,2] padding=[1,1]
  return %y
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32 l3=33554432' after.vf | grep -E '^  (stored|fuses .*sin)'
  fuses   sin
  stored  sin f32[2,128,4,4]: 0.009255 ms, against 0.01884 ms fused, both predicted
  stored  max f32[2,128,4,4]: 0.008065 ms, against 0.01796 ms fused, both predicted

== so is a view of an input that is read again and again, which computes nothing
<<< turned.vf
graph @g(%w: i32[8,1,3,3], %x: i32[2,8,28,28]) {
  %t = permute %x order=[0,1,3,2]
  %y = conv %t, %w stride=2 padding=1 groups=8
  return %y
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32 l3=33554432' turned.vf | grep -m1 '^  stored '
  stored  [..] i32[..]: [..] ms, against [..] ms fused, both predicted

== but not one that repeats elements
<<< repeated.vf
graph @g(%a: i32[8,30,35], %b: i32[35,12]) {
  %c = matmul %a, %b
  %d = reshape %c shape=[8,30,6,2]
  %y = permute %d order=[2,0,1,3]
  return %y
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32 l3=33554432' repeated.vf | grep -c '^  stored'
? 1
0

== a transposed value that a convolution adds is stored, though that is less of so long a kernel
<<< added.vf
graph @g(%x: bf16[1,144,56,56], %w: bf16[24,144,1,1], %s: bf16[1,24,56,56]) {
  %t = permute %s order=[0,1,3,2]
  %z = conv %x, %w
  %y = add %z, %t
  return %y
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32 l3=33554432' added.vf | grep '^  stored  permute'
  stored  permute bf16[1,24,56,56]: [..] ms, against [..] ms fused, both predicted

== a row group whose rows leave one value few lanes is taken apart where what that one reads is then stored; prefixes of a block, and its sum, keep their orders
<<< apart.vf
graph @g(%x: f64[256], %y: f64[8,256], %z: f64[128,8,2]) {
  %s = add %y, %x
  %r = reshape %s shape=[8,128,2]
  %t = permute %r order=[1,0,2]
  %m = min %t, %z
  %e = erf %m
  %i = cast %e dtype=i32
  %c = cumsum %s axis=1
  return %i, %c
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32 l3=33554432' apart.vf | grep '^kernel\|^  stored '
kernel 0 -> %s f64[8,256]
  stored  stored f64[8,256]: [..] ms, against [..] ms fused, both predicted
kernel 1 -> %m f64[128,8,2]
  stored  min f64[128,8,2]: [..] ms, against [..] ms fused, both predicted
kernel 2 -> %i i32[128,8,2]
  stored  cast i32[128,8,2]: [..] ms, against [..] ms fused, both predicted
kernel 3 -> temporary 1 of %c f64[8,15,1]
  stored  sum f64[8,15,1]: [..] ms, against [..] ms fused, both predicted
kernel 4 -> temporary 2 of %c f64[8,15,1]
  stored  stored f64[8,15,1]: [..] ms, against [..] ms fused, both predicted
kernel 5 -> %c f64[8,256]

== what two operands of a join compute is computed in the loops of each, where it is not stored
<<< operands.vf
graph @g(%x: f16[1,2048,16,16], %y: f16[1,2050,20,18]) {
  %p = pad %x pads=[[0,0],[1,1],[2,2],[0,2]] mode=edge
  %s = sigmoid %p
  %t = tanh %s
  %r = concat %s, %t, %y axis=0
  return %r
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32 l3=33554432' operands.vf | grep '^kernel'
kernel 0 -> %p f16[1,2050,20,18]
kernel 1 -> %s f16[1,2050,20,18]
kernel 2 -> %r f16[3,2050,20,18]

== lanes are not stored to lines of one set of the cache, which push one another out: channels are put last by a kernel of their own
<<< one_set.vf
graph @one_set(%x: f32[1,1024,28,28]) {
  %a = max_pool %x kernel=[3,3] stride=[1,1]
  %b = permute %a order=[0,2,3,1]
  %c = exp %b
  return %c
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' one_set.vf | grep -c '^kernel'
3
$ sed 's/1024/1000/' one_set.vf | viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' - | grep -c '^kernel'
2

== a small view that a gather reads again and again is copied where its elements lie apart
<<< again.vf
graph @g(%i: i32[768], %x: f32[1,4,28,28]) {
  %s = stride %x steps=[1,1,2,3]
  %p = pad %s pads=[[0,0],[1,1],[1,1],[1,0]] mode=wrap
  %r = gather %p, %i axis=2 mode=fill
  return %r
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32 l3=33554432' again.vf | grep '^kernel'
kernel 0 -> %p f32[1,6,16,11]
kernel 1 -> %r f32[1,6,768,11]
