# Slices of a scan that are the same in each iteration have no array: `moves` are the arrays along which it goes.
<<< slices.vf
graph @body(%s: f32[3], %x: f32[3], %w: f32[3], %k: f32[]) {
  %p = mul %x, %w
  %q = mul %p, %k
  %n = add %s, %q
  return %n, %n
}
graph @all(%s: f32[3], %x: f32[4,3], %w: f32[1,1], %k: f32[]) {
  %e = expand %w shape=[4,3]
  %h = mul %e, 0.5
  %t = sub %h, %e
  %y, %z = scan %s, %x, %t, %k do=@body carries=1 sliced=2 length=4
  return %y, %z
}
graph @both(%s: f32[3], %w: f32[1,3], %k: f32[]) {
  %e = expand %w shape=[4,3]
  %y, %z = scan %s, %e, %e, %k do=@body carries=1 sliced=2 length=4 reverse=true
  return %y, %z
}
graph @different(%s: f32[3], %x: f32[4,1], %w: f32[1,3], %k: f32[]) {
  %a = expand %x shape=[4,3]
  %b = expand %w shape=[4,3]
  %c = add %a, %b
  %y, %z = scan %s, %a, %c, %k do=@body carries=1 sliced=2 length=4
  return %y, %z
}
>>>

== an expanded value, and what is computed from such values, is one operand for all iterations
$ viewfold dump --stage=kernels --graph all slices.vf | grep moves | wc -l
2
$ viewfold dump --stage=kernels --graph both slices.vf | grep moves | wc -l
1

== a value with one slice of its own is sliced
$ viewfold dump --stage=kernels --graph different slices.vf | grep moves | wc -l
3

== the results are those of the graph as it was written
$ viewfold check --graph all slices.vf
check y: 3 elements, bit-equal
check z: 12 elements, bit-equal
$ viewfold check --graph both slices.vf
check y: 3 elements, bit-equal
check z: 12 elements, bit-equal
$ viewfold check --graph different slices.vf
check y: 3 elements, bit-equal
check z: 12 elements, bit-equal
