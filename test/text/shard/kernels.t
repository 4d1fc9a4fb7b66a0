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
