# Kernels around exchanges, which come in another order than they were made in: dump --stage=kernels. spec: PS7

== what a kernel computes is told where its exchange has moved it
<<< part.vf
graph @part(%a: f32[8], %b: f32[64]) {
  %late = cumsum %b axis=0
  %two = add %a, %a
  %all = exchange %two shape=[16] start=[0] at=[8*x=0..1] kind="all_gather"
  %sum = sum %all axes=[0]
  return %late, %sum
}
>>>
$ viewfold dump --stage=kernels part.vf | grep -E '^kernel|^exchange|^wait|for|fuses'
kernel 0 -> %two f32[8]
  for     %two = add %a, %a (line 3)
  fuses   add
exchange all_gather -> %all f32[16]
  for     %all = exchange %two shape=[16] start=[0] at=[8*x=0..1] kind="all_gather" (line 4)
kernel 1 -> temporary 2 of %late f32[1,3,1]
  for     %late = cumsum %b axis=0 (line 2)
  fuses   reshape shrink reshape sum
kernel 2 -> temporary 3 of %late f32[1,3,1]
  for     %late = cumsum %b axis=0 (line 2)
  fuses   reshape iota x2 unsqueeze le expand where sum reshape stored
kernel 3 -> %late f32[64]
  for     %late = cumsum %b axis=0 (line 2)
  fuses   reshape x2 iota x2 unsqueeze le expand x2 where sum pad unsqueeze expand add reshape x2
wait for exchange all_gather -> %all f32[16]
  for     %all = exchange %two shape=[16] start=[0] at=[8*x=0..1] kind="all_gather" (line 4)
kernel 4 -> %sum f32[]
  for     %sum = sum %all axes=[0] (line 5)
  fuses   sum

== what blocks of iterations load of what arrives, and store of what is sent
<<< rows.vf
graph @rows(%a: f32[512,1024], %w: f32[1024,256]) {
  %all = exchange %a shape=[2048,1024] start=[0,0] at=[512*x=0..3,0] kind="all_gather"
  %y = matmul %all, %w
  %up = flip %all axes=[0]
  %two = add %up, %up
  %q = exchange %two shape=[512,1024] start=[512*x,0] at=[0,0] kind="all_to_all"
  return %y, %q
}
>>>
$ viewfold dump --stage=kernels --target 'triple=x86_64-unknown-linux-gnu features=+avx2,+fma vector_bytes=32 registers=16 fma=1 f16c=0 masks=0 dot2=0 l1=32768 l2=1048576 l3=33554432' rows.vf | grep -E '^kernel|^exchange|^wait|begins|sends'
exchange all_gather -> %all f32[2048,1024]
kernel 0 -> temporary 2 of %y f32[1,16,1024,16]
wait for exchange all_gather -> %all f32[2048,1024]
kernel 1 -> %two f32[2048,1024]
  sends   what is there: 512 blocks of iterations store 4096 elements each
  begins  with part of %all f32[2048,1024]: 512 blocks of iterations, b loads elements b*-4096+2093056 to b*-4096+2097151
exchange all_to_all -> %q f32[512,1024]
kernel 2 -> %y f32[2048,256]
wait for exchange all_to_all -> %q f32[512,1024]
