# What few elements need, behind a branch, is no part of what a kernel costs: a sine of f32 beyond 2^18, the remainder of
# a division whose quotient has more digits than a float. Of each element 8 bytes (12 with two operands) and what is
# usual are counted.
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

== work is that of usual elements
$ viewfold explain --no-run --threads 2 --graph sine rare.vf
[...]
  threads share a loop of 1; work about 33000 (bytes and operations)
[...]
$ viewfold explain --no-run --threads 2 --graph remainder rare.vf
[...]
  threads share a loop of 1; work about 31000 (bytes and operations)
[...]
