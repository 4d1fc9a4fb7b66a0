# The order of the unrolled values of a product's register tile.

<<< perceptron.vf
graph @perceptron(%x: f32[256,96], %w1: f32[384,96], %w2: f32[96,384]) {
  %w1t = permute %w1 order=[1,0]
  %u = matmul %x, %w1t
  %f = relu %u
  %w2t = permute %w2 order=[1,0]
  %y = matmul %f, %w2t
  return %y
}
>>>

== rows come before the vectors of columns, also where lanes run along the outer axis: the other way round the six rows' elements and twelve sums would need more than 16 registers
$ viewfold dump --stage=loops --target 'vector_bytes=32 registers=16' perceptron.vf | grep -o 'unroll.*; vector.*'
unroll a1.2; vector a0.1
unroll a1.1 a0.1; vector a0.2
unroll a1.1 a0.1; vector a0.2
unroll a0.2; vector a1.1
