# Loop-invariant values are computed before the loop (passes/pack/invariants.c).
<<< loops.vf
# copies of weights that a loop's product wants in another order
graph @step(%h: f32[b=1..65536,128], %x: f32[b,128], %w: f32[128,128]) {
  %p = matmul %h, %w
  %q = mul %p, 0.01
  %s = add %q, %x
  %t = tanh %s
  return %t, %t
}
graph @recurrent(%h: f32[b=1..65536,128], %x: f32[48,b,128], %w: f32[128,128]) {
  %wt = permute %w order=[1,0]
  %last, %all = scan %h, %x, %wt do=@step length=48 carries=1 sliced=1
  return %last, %all
}

# a sum that no iteration changes, read by the condition and by the body
graph @below(%x: f32[], %a: f32[64,64]) {
  %s = sum %a axes=[0,1]
  %c = lt %x, %s
  return %c
}
graph @more(%x: f32[], %a: f32[64,64]) {
  %s = sum %a axes=[0,1]
  %d = div %s, 8.0
  %y = add %x, %d
  return %y
}
graph @counted(%a: f32[64,64]) {
  %zero = const value=0.0 dtype=f32
  %x = while_loop %zero, %a while=@below do=@more carries=1 bound=100
  return %x
}

# a loop in a loop; the inner one's copy of weights depends on nothing that either changes
graph @outer(%h: f32[b=1..65536,128], %x: f32[48,b,128], %w: f32[128,128]) {
  %last, %all = scan %h, %x, %w do=@step length=48 carries=1 sliced=1
  return %last
}
graph @nested(%h: f32[b=1..65536,128], %x: f32[48,b,128], %w: f32[128,128]) {
  %wt = permute %w order=[1,0]
  %last = scan %h, %x, %wt do=@outer length=3 carries=1 sliced=0
  return %last
}

# one iteration: what it computes is wanted there
graph @once(%h: f32[b=1..65536,128], %x: f32[1,b,128], %w: f32[128,128]) {
  %wt = permute %w order=[1,0]
  %last, %all = scan %h, %x, %wt do=@step length=1 carries=1 sliced=1
  return %last
}
>>>

== a copy of weights for a product in the body is an operand of the loop, in place of the weights
$ viewfold dump --print-after=invariants --graph recurrent --target 'vector_bytes=64 registers=32' loops.vf | grep -e ' stored ' -e ' scan '
  %7 = stored %6 : f32[1,2,128,64]
  %last, %all = scan %h, %x, %7 do=@recurrent_f0 length=48 carries=1 sliced=1 : f32[b,128], f32[48,b,128]

== of a loop in a loop, before both
$ viewfold dump --print-after=invariants --graph nested --target 'vector_bytes=64 registers=32' loops.vf | grep -e '^graph' -e ' stored ' -e ' scan '
graph @nested_f0(%a0: f32[b=1..65536,128], %a1: f32[b,128], %a2: f32[1,2,128,64]) {
graph @nested_f1(%a0: f32[b=1..65536,128], %a1: f32[48,b,128], %a2: f32[1,2,128,64]) {
  %0, %1 = scan %a0, %a1, %a2 do=@nested_f0 length=48 carries=1 sliced=1 : f32[b,128], f32[48,b,128]
graph @nested(%h: f32[b=1..65536,128], %x: f32[48,b,128], %w: f32[128,128]) {
  %7 = stored %6 : f32[1,2,128,64]
  %last = scan %h, %x, %7 do=@nested_f1 length=3 carries=1 sliced=0 : f32[b,128]

== a reduction that condition and body both read is one operand
$ viewfold dump --print-after=invariants --graph counted loops.vf | grep -e ' sum ' -e ' while_loop '
  %1 = sum %a axes=[0,1] : f32[]
  %x = while_loop %0, %1 while=@counted_f0 do=@counted_f1 bound=100 carries=1 : f32[]

== not of a loop of one iteration
$ viewfold dump --print-after=invariants --graph once --target 'vector_bytes=64 registers=32' loops.vf | grep -e '^graph' -e ' stored '
graph @once_f0(%a0: f32[b=1..65536,128], %a1: f32[b,128], %a2: f32[128,128]) {
  %8 = stored %7 : f32[1,2,128,64]
graph @once(%h: f32[b=1..65536,128], %x: f32[1,b,128], %w: f32[128,128]) {

== the results are those of the evaluator
$ for g in recurrent nested once; do viewfold check --graph $g --size b=3 loops.vf > out && echo agrees; done
agrees
agrees
agrees
$ viewfold check --graph counted loops.vf
check x: 1 element, bit-equal
