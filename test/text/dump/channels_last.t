# Which images are stored with their channels last, and that results stay the same.
<<< layout.sh
# layout.sh GRAPH: what is stored after the step, and of which shape
viewfold dump --print-after=channels --graph "$1" images.vf | sed -nE 's/.* = stored .* : //p'
>>>
<<< images.vf
graph @convolutions(%x: f32[1,3,14,14], %v: f32[24,3,3,3], %w: f32[16,24,3,3], %b: f32[24]) {
  %c = conv %x, %v, %b padding=1
  %r = relu %c
  %y = conv %r, %w padding=1
  return %y
}
graph @residual(%x: f32[2,3,9,9], %v: f32[16,3,1,1], %u: f32[16,16,1,1], %w: f32[16,16,3,3]) {
  %c = conv %x, %v
  %r = relu %c
  %d = conv %r, %w padding=1
  %e = conv %r, %u
  %a = add %d, %e
  %s = relu %a
  %t = add %s, %r
  %y = conv %t, %u
  return %y
}
graph @depthwise(%x: f32[1,3,15,15], %v: f32[24,3,3,3], %w: f32[24,1,3,3], %u: f32[8,24,1,1]) {
  %c = conv %x, %v
  %r = relu %c
  %d = conv %r, %w padding=1 stride=2 groups=24
  %s = relu %d
  %y = conv %s, %u
  return %y
}
graph @sets(%x: f32[1,2,5,5], %v: f32[512,2,1,1], %w: f32[3,512,3,3]) {
  %c = conv %x, %v
  %r = relu %c
  %y = conv %r, %w padding=1
  return %y
}
graph @pooled(%x: f32[1,3,15,15], %v: f32[24,3,3,3], %w: f32[16,48,1,1]) {
  %c = conv %x, %v
  %r = relu %c
  %p = max_pool %r kernel=[3,3] stride=2 padding=1
  %q = neg %p
  %j = concat %p, %q axis=1
  %y = conv %j, %w
  return %y
}
graph @counted(%x: f32[1,24,13,13], %w: f32[24,24,1,1], %v: f32[24,24,1,1]) {
  %c = conv %x, %w
  %r = relu %c
  %s = avg_pool %r kernel=[3,3] stride=[1,1] padding=[1,1]
  %one = const value=1.0 dtype=f32
  %e = expand %one shape=[1,24,13,13]
  %n = avg_pool %e kernel=[3,3] stride=[1,1] padding=[1,1]
  %d = div %s, %n
  %y = conv %d, %v
  return %y
}
graph @signal(%x: f32[2,4,40], %v: f32[16,4,3], %w: f32[16,16,3]) {
  %c = conv %x, %v padding=1
  %r = relu %c
  %y = conv %r, %w dilation=2
  return %y
}
graph @normed(%x: f32[2,4,40], %v: f32[16,4,3], %w: f32[24,16,3], %u: f32[16,24,3]) {
  %c = conv %x, %v padding=1
  %t = permute %c order=[0,2,1]
  %n = layer_norm %t axis=2
  %f = permute %n order=[0,2,1]
  %r = relu %f
  %d = conv %r, %w stride=2
  %o = permute %d order=[0,2,1]
  %m = layer_norm %o axis=2
  %i = permute %m order=[0,2,1]
  %s = relu %i
  %y = conv %s, %u
  return %y
}
graph @flattened(%x: f32[1,3,6,6], %v: f32[16,3,3,3], %w: f32[256,10]) {
  %c = conv %x, %v
  %r = relu %c
  %f = reshape %r shape=[1,256]
  %y = matmul %f, %w
  return %y
}
graph @both(%x: f32[1,3,6,6], %v: f32[16,3,3,3], %u: f32[16,16,1,1], %w: f32[256,10]) {
  %c = conv %x, %v
  %r = relu %c
  %d = conv %r, %u
  %f = reshape %r shape=[1,256]
  %y = matmul %f, %w
  return %y, %d
}
graph @given(%x: f32[1,16,6,6], %u: f32[16,16,1,1]) {
  %r = relu %x
  %y = conv %r, %u
  return %y
}
graph @windows_of_given(%x: f32[1,16,6,6], %w: f32[16,1,3,3], %u: f32[16,16,1,1]) {
  %d = conv %x, %w groups=16
  %r = relu %d
  %y = conv %r, %u
  return %y
}
graph @shuffled(%x: f32[1,3,6,6], %v: f32[32,3,1,1], %u: f32[32,32,1,1]) {
  %c = conv %x, %v
  %r = relu %c
  %h = reshape %r shape=[1,2,16,6,6]
  %p = permute %h order=[0,2,1,3,4]
  %k = reshape %p shape=[1,32,6,6]
  %y = conv %k, %u
  return %y
}
graph @few(%x: f32[1,3,6,6], %v: f32[8,3,1,1], %u: f32[32,8,1,1]) {
  %c = conv %x, %v
  %r = relu %c
  %y = conv %r, %u
  return %y
}
graph @narrow(%x: f32[1,3,8,16], %v: f32[16,3,1,1], %u: f32[7,16,1,1]) {
  %c = conv %x, %v
  %r = relu %c
  %y = conv %r, %u
  return %y
}
graph @heads(%q: f32[2,16,24,8], %k: f32[2,16,24,8], %v: f32[2,16,24,8]) {
  %t = permute %k order=[0,1,3,2]
  %s = matmul %q, %t
  %p = softmax %s axis=-1
  %y = matmul %p, %v
  return %y
}
>>>

== between convolutions, along residual chains, through windows of each channel and joins, of one axis as of two
$ sh layout.sh convolutions
f32[1,14,14,24]
$ sh layout.sh residual
f32[2,9,9,16]
f32[2,9,9,16]
$ sh layout.sh depthwise
f32[1,13,13,24]
f32[1,1,7,7,24]
f32[1,7,7,24]
$ sh layout.sh pooled
f32[1,13,13,24]
f32[1,7,7,24]
f32[1,7,7,24]
$ sh layout.sh counted
f32[1,13,13,24]
f32[1,13,13,24]
$ sh layout.sh signal
f32[2,40,16]

== and where a norm over the channels reads them through a view that puts these last
$ sh layout.sh normed
f32[2,40,16]
f32[2,19,24]

== but not where channels and positions become one axis, in parameters, of few channels, or where no convolution sums or makes half a vector of channels
$ for g in flattened both given windows_of_given shuffled few narrow heads; do sh layout.sh $g; done

== windows of each channel are read where they are, with masks
$ viewfold dump --stage=kernels --graph depthwise images.vf | grep -c 'fuses .* pad .* stride .* fma sum relu stored'
0
? 1

== a padded copy whose positions would lie in one set of the L1 cache has a line between them
$ viewfold dump --print-after=pack --graph sets images.vf | sed -nE 's/.* = pad (.*) pads=.*1,1.*: (.*)/\2/p'
f32[1,7,7,528]

== the results are those of the reference evaluator
$ viewfold check images.vf > /dev/null 2>&1 && echo same
same

== the loop over columns of a convolution stays inside that over lines where the L2 cache holds all panels
<<< order.vf
graph @lines(%x: f32[1,64,56,56], %w: f32[64,64,3,3]) {
  %y = conv %x, %w padding=1
  return %y
}
graph @panels(%x: f32[1,256,14,14], %w: f32[256,256,3,3]) {
  %y = conv %x, %w padding=1
  return %y
}
>>>
<<< order.sh
# order.sh GRAPH: the outer loops of the product, kernel 2
viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 l2=1048576' --graph "$1" order.vf |
  sed -nE 's/^# kernel 2 .*reorder (a.*) a1[.]0 .*/\1/p'
>>>
$ sh order.sh lines
a0 a2.0
$ sh order.sh panels
a2.0 a0

== the terms of a product of two computed values are no image: nothing stores them
<<< computed.vf
graph @computed(%x: f32[8,4096], %w: f32[64,4096], %u: f32[64,333]) {
  %a = relu %x
  %b = relu %w
  %t = permute %b order=[1,0]
  %p = matmul %a, %t
  %y = matmul %p, %u
  return %y
}
>>>
$ viewfold dump --print-after=channels computed.vf | grep stored | wc -l
0

== images whose positions are gathered and interpolated have one layout with those that are made of them
<<< gathered.vf
graph @gathered(%x: f32[1,16,6,6], %w: f32[24,16,3,3], %v: f32[16,24,3,3], %at: i64[9,2], %by: f32[9,2]) {
  %a = conv %x, %w padding=1
  %b = relu %a
  %t = gather %b, %at axis=3 mode=clip
  %f = reshape %by shape=[1,1,1,9,2]
  %m = mul %t, %f
  %s = sum %m axes=[4]
  %g = gather %s, %at axis=2 mode=clip
  %h = reshape %by shape=[1,1,9,2,1]
  %n = mul %g, %h
  %u = sum %n axes=[3]
  %c = conv %u, %v padding=1
  %d = relu %c
  %y = conv %d, %w padding=1
  return %y
}
>>>
$ viewfold dump --print-after=channels gathered.vf | sed -n 's/.* = stored .* : //p'
f32[1,6,6,24]
f32[1,6,9,24]
f32[1,9,9,24]
f32[1,9,9,16]
$ viewfold check gathered.vf > out
