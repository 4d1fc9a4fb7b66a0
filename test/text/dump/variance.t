# A variance over many elements is summed block by block, and each element is loaded once.
<<< var.vf
graph @var(%x: f32[32,64,56,56]) {
  %m = mean %x axes=[0,2,3]
  %v = var %x axes=[0,2,3]
  return %m, %v
}
>>>

== one kernel reads the elements, a block in each iteration
$ viewfold dump --stage=kernels var.vf | grep -e 'reads   %x' -B4
kernel 0 -> temporary 0 f32[32,64], temporary 2 of %v f32[32,64], temporary 3 of %v f32[32,64]
  for     %m = mean %x axes=[0,2,3] (line 2)
          %v = var %x axes=[0,2,3] (line 3)
  fuses   sum div reshape expand sub fma sum stored fma sum stored
  reads   %x f32[32,64,56,56], in 3 places

== the sums that need only the mean of the block share one loop
$ viewfold dump --stage=loops --target 'vector_bytes=64' var.vf | grep -e vector -e 'sub.*f32' -e 'fma' | head -5
    %[..] = for [..] in 0..16 vector with %[..] = f32(0.0) {
    %[..] = for [..] in 0..16 vector with %[..] = f32(0.0), %[..] = f32(0.0) {
            %[..] = sub %[..], %[..] : f32
            %[..] = fma %[..], %[..], %[..] : f32
            %[..] = fma %[..], f32(1.0), %[..] : f32

== the last iteration over short rows overlaps the previous one, so that all have the same trip count; one thread block has both
<<< norm.vf
graph @norm(%x: f32[4097,17]) {
  %y = layer_norm %x axis=-1
  return %y
}
>>>
<<< make.vf
graph @make() {
  %i = iota shape=[4097,17] axis=0 dtype=f32
  %j = iota shape=[4097,17] axis=1 dtype=f32
  %p = mul %i, %j
  %x = sin %p
  return %x
}
>>>
$ viewfold dump --stage=loops norm.vf | grep 'thread {\|, 4065)'
  for ridx13 in 0..128 thread {
      %3 = (min((%1+(ridx14*32)+%2+4064), 4065)*17) : index
$ viewfold run make.vf --out x=x.npy > made
$ viewfold run --check norm.vf --in x=x.npy | grep check
check y: [..], allowed [..]
