# Work that few elements need, in a branch, does not count in the cost of a kernel: a sine of f32 beyond 2^18,
# the remainder of a division whose quotient has more digits than a float. For each element 8 bytes are
# counted (12 with two operands), and the operations of usual elements.
<<< rare.vf
graph @sine(%x: f32[1000]) {
  %y = sin %x
  return %y
}
graph @remainder(%x: f32[1000], %y: f32[1000]) {
  %z = mod %x, %y
  return %z
}
>>>

== only the work of usual elements is counted
$ viewfold explain --no-run --threads 2 --graph sine rare.vf
[...]
  threads share a loop of 1; work about 33000 (bytes and operations)
[...]
$ viewfold explain --no-run --threads 2 --graph remainder rare.vf
[...]
  threads share a loop of 1; work about 31000 (bytes and operations)
[...]
