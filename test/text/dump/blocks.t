# Attention whose rows of scores fit in no cache: blocks of keys, with a running maximum
# (passes/fold/key_blocks.c).

<<< long.vf
graph @long(%q: f32[2,4096,64], %k: f32[2,4096,64], %v: f32[2,4096,64]) {
  %y = attention %q, %k, %v
  return %y
}
>>>
<<< causal.vf
graph @causal(%q: f32[2,4096,64], %k: f32[2,4096,64], %v: f32[2,4096,64]) {
  %y = attention %q, %k, %v causal=true
  return %y
}
>>>
<<< hand.vf
graph @hand(%q: f64[16,3000,24], %k: f64[4,3000,24], %v: f64[4,3000,40], %b: f64[3000,3000]) {
  %g = reshape %q shape=[4,4,3000,24]
  %t = permute %k order=[0,2,1]
  %u = reshape %t shape=[4,1,24,3000]
  %s = matmul %g, %u
  %x = add %s, %b
  %p = softmax %x axis=3
  %w = reshape %v shape=[4,1,3000,40]
  %y = matmul %p, %w
  return %y
}
>>>
<<< weights.vf
graph @weights(%q: f32[4096,64], %k: f32[64,4096], %v: f32[4096,64]) {
  %s = matmul %q, %k
  %p = softmax %s axis=1
  %y = matmul %p, %v
  return %y, %p
}
>>>

== one kernel besides the copy of the keys, and no memory for scores
$ viewfold explain --no-run long.vf | grep -e ^graph -e "^  group"
graph @long: 2 kernels, 1 temporary
  group   in one loop, 64 rows an iteration, over blocks of 256 keys with a running maximum, since the [..] bytes that they pass on stay in a cache: mul in a local, max in a local, exp in a local, sum in a local, sum in a local, div

== softmax and two products, grouped heads, a bias: the same kernel; the sums are divided, not the weights
$ viewfold explain --no-run hand.vf | grep -e ^graph -e "^  group"
graph @hand: 2 kernels, 1 temporary
  group   in one loop, [..] over blocks of 256 keys with a running maximum, [..]
$ viewfold dump --print-after=fold hand.vf | grep -c ' = div '
1

== locals with values carried from block to block are `kept`; those of one block are over two ranges
$ viewfold dump --print-after=fold long.vf | grep local | sed 's/l[0-9]*:/l:/' | LC_ALL=C sort | uniq -c
[..]4 [..]local l: f32[128] over ridx0 kept
[..]2 [..]local l: f32[16384] over ridx0, ridx10
[..]1 [..]local l: f32[4096] over ridx0
[..]3 [..]local l: f32[64] over ridx0
[..]3 [..]local l: f32[64] over ridx0, ridx10
[..]1 [..]local l: f32[8192] over ridx0 kept

== blocks that a causal mask empties for all rows of an iteration are skipped
$ viewfold dump --stage=loops causal.vf | grep '^    for .*//4)+'
    for [..] in 0..(([..]//4)+[..]+1) {

== weights that are a result are stored anyway, so that no blocks are used
$ viewfold explain --no-run weights.vf | grep 'blocks of' || echo none
none
