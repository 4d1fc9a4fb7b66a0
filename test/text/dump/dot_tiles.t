# Products whose lanes run along the terms: which results are computed together.

<<< thin.vf
graph @few_rows(%a: f32[3,4615], %b: f32[189,4615]) {
  %t = permute %b order=[1,0]
  %r = matmul %a, %t
  return %r
}
graph @few_columns(%a: f32[372,235], %b: f32[235,5]) {
  %r = matmul %a, %b
  return %r
}
graph @far(%a: f32[1000,4000], %b: f32[4000,11]) {
  %r = matmul %a, %b
  return %r
}
graph @panels(%a: f32[13,231], %b: f32[111,231]) {
  %t = permute %b order=[1,0]
  %r = matmul %a, %t
  return %r
}
>>>
<<< nests.sh
viewfold dump --stage=loops --graph "$1" --target "triple=x86_64-unknown-linux-gnu features=+avx512f vector_bytes=$2 registers=$3" thin.vf | sed -n 's|^# ||p'
>>>

== six results share what they load, and the larger operand is read once
$ sh nests.sh few_rows 64 32
kernel 0 nest 0: split a0 3; split a1 2; reorder a1.0 a0.0 a0.1 a1.1; unroll a0.1 a1.1; thread a1.0
== where the sums of one result fill the registers, the loop over the larger operand stands outside all the same
$ sh nests.sh few_rows 32 16
kernel 0 nest 0: reorder a1 a0; thread a1
== the small operand is copied so that its terms are contiguous
$ sh nests.sh few_columns 64 32
kernel 0 nest 0: split a0 4; split a1 16; reorder a0.0 a1.0 a0.1 a1.1; unroll a0.1; vector a1.1
kernel 1 nest 0: split a0 2; split a1 6; split a1 3; reorder a1.0 a1.1 a0.0 a0.1 a1.2; unroll a0.1 a1.2; thread a1.0
kernel 2 nest 0: split a0 16; split a0 4; split a1 4; reorder a0.0 a1.0 a0.1 a0.2 a1.1; unroll a0.2; vector a1.1
== a large operand is not transposed for a few columns, which fill a vector with zeros behind them
$ viewfold dump --stage=kernels --graph far thin.vf | grep '^kernel'
kernel 0 -> temporary 0 [..]
kernel 1 -> temporary 1 of %r f32[1000,16]
kernel 2 -> %r f32[1000,11]
$ sh nests.sh far 64 32 | grep 'kernel 1'
kernel 1 nest 0: split a0 12; split a1 16; reorder a1.0 a0.0 a0.1 a1.1; unroll a0.1; vector a1.1; thread a1.0 a0.0
$ sed 's/4000/90000/g; s/1000/13/; s/,11/,77/' thin.vf | viewfold dump --stage=kernels --graph far - | grep -o '^kernel.*f32.*'
kernel 0 -> temporary 0 of %r f32[1,3,90000,32]
kernel 1 -> temporary 1 of %r f32[13,80]
kernel 2 -> %r f32[13,77]
== rows of columns that stay near one another are copied in panels where they are 10 MB for 48 rows or more, 5 for 128
$ for n in 64,3000,899 64,3000,833 47,3000,899 130,2000,700 130,2000,650; do echo $n | tr ',' ' ' | while read m k c; do sed "s/4000/$k/g; s/1000/$m/; s/,11/,$c/" thin.vf | viewfold dump --stage=kernels --graph far - | grep -c '^kernel'; done; done
2
1
1
2
1
== a copy in three panels, of which the last is not full, has vectors in all of them
$ sh nests.sh panels 64 32 | grep -c 'kernel 0.*vector'
3
