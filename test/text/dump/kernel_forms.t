# Forms of kernels: where values are stored so that loops have lanes, registers and no tests, and which lanes products get.
<<< forms.sh
# forms.sh GRAPH WORDS: the lines of each kernel of a graph of forms.vf that begin with one of the words
viewfold explain --no-run --threads 1 --target 'vector_bytes=64 registers=32' --graph "$1" forms.vf |
sed -nE "s/^  ($2) +/\\1 /p"
>>>
<<< forms.vf
graph @chain(%x: f32[65536]) {
  %a = tanh %x
  %b = mul %a, 0.5
  %c = sin %b
  %y = exp %c
  return %y
}
graph @planes(%x: f32[100,13,31]) {
  %a = erf %x
  %y = cos %a
  return %y
}
graph @small(%x: f32[64]) {
  %a = tanh %x
  %y = sin %a
  return %y
}
graph @joined(%a: i8[768,128], %b: i8[768,128], %c: i8[768,128]) {
  %j = concat %a, %b, %c axis=0
  %y = min %j axes=[0]
  return %y
}
graph @updated(%x: f32[8,4096], %u: f32[4,1000]) {
  %s = slice_update %x, %u start=[2,30]
  %y = cummax %s axis=0
  return %y
}
graph @gathered(%x: f32[20379,5], %i: i32[7]) {
  %g = gather %x, %i axis=1
  %y = atan %g
  return %y
}
graph @moved(%x: f32[256,100]) {
  %s = sigmoid %x
  %r = reshape %s shape=[256,20,5]
  %y = permute %r order=[1,0,2]
  return %y
}
graph @beside(%x: f32[1000,4], %a: f32[1000,2], %b: f32[1000,2]) {
  %j = concat %a, %b axis=1
  %s = sin %x
  %y = add %s, %j
  return %y
}
graph @batch(%x: bf16[2,34,12], %w: bf16[12,32]) {
  %y = matmul %x, %w
  return %y
}
graph @itself(%x: f32[28,100,4,56]) {
  %c = cast %x dtype=u64
  %t = permute %c order=[0,1,3,2]
  %y = matmul %c, %t
  return %y
}
graph @turned(%w: f32[24,144,1,1], %c: f32[1,144,56,56]) {
  %z = conv %c, %w
  %y = swap_axes %z axis1=-1 axis2=-2
  return %y
}
graph @affine(%x: f32[1,42,56,56], %a: f32[42,1,1], %b: f32[42,1,1], %w: f32[7,42,1,1]) {
  %m = mul %x, %a
  %n = add %m, %b
  %y = conv %n, %w
  return %y
}
graph @residual(%x: f32[1,48,14,14], %r: f32[1,2,14,14], %w: f32[2,48,3,3]) {
  %c = conv %x, %w padding=1
  %y = add %r, %c
  return %y
}
graph @narrow(%a: f32[14,96], %b: f32[14,96], %c: f32[14,96], %w: f32[288,7]) {
  %j = concat %a, %b, %c axis=1
  %y = matmul %j, %w
  return %y
}
graph @softmax(%x: f32[256,14,14], %v: f32[256,14,1]) {
  %p = softmax %x axis=-1
  %y = matmul %p, %v
  return %y
}
>>>

== elementary functions that follow one another have loops of their own, over rows in the L1 cache
$ sh forms.sh chain 'fuses|group'
fuses tanh mul stored sin stored exp
group in one loop, 512 rows an iteration, since the 4096 bytes that they pass on stay in a cache: stored in a local, stored in a local, exp
$ sh forms.sh planes group
group in one loop, 13 rows an iteration, since the 1612 bytes that they pass on stay in a cache: stored in a local, cos
$ sh forms.sh small 'fuses|group'
fuses tanh sin

== what a reduction would test for each term is joined before
$ sh forms.sh joined 'fuses|tests'
fuses concat stored
tests nothing: no mask is left
fuses reshape min
tests nothing: no mask is left
fuses min
tests nothing: no mask is left
$ sh forms.sh updated 'fuses|tests'
fuses nothing: a copy
tests nothing: no mask is left
fuses iota reshape shrink assign
tests nothing: no mask is left
fuses reshape x2 iota x2 unsqueeze le expand x2 where max reshape x2
tests nothing: no mask is left

== elementary functions are apart from rows of a few elements
$ sh forms.sh gathered fuses
fuses gather stored
fuses atan
$ sh forms.sh moved fuses
fuses sigmoid stored
fuses reshape permute
$ sh forms.sh beside fuses
fuses concat stored
fuses sin add

== a copy of weights that each batch would convert keeps the order of the weights, along which lanes run
$ sh forms.sh batch 'fuses|reads|lanes'
fuses cast stored
reads %x bf16[2,34,12], in 1 place
lanes 16 of f32
fuses reshape expand cast permute reshape expand shrink permute stored
reads %w bf16[12,32], in 1 place
lanes 16 of f32
fuses permute expand reshape expand fma sum cast
reads temporary 0 of %y f32[1,1,12,32], in 1 place
reads temporary 1 of %y f32[2,34,12], in 1 place
lanes 16 of bf16, unroll factor 20

== two views of one value share its copy
$ sh forms.sh itself 'fuses|reads'
fuses cast stored permute x2 reshape expand reshape expand mul sum
reads %x f32[28,100,4,56], in 1 place

== the result is transposed where it is smaller than the operand
$ sh forms.sh turned fuses
fuses reshape permute reshape x2 expand reshape expand permute reshape permute x2 reshape permute x3 fma sum stored
fuses permute

== lanes run along the elements that are contiguous in the large operand
$ sh forms.sh affine 'lanes|blocked'
lanes 16 of f32, unroll factor 21

== a tile overlaps the one before although the kernel adds what it could overwrite
$ sh forms.sh residual loops
loops ridx13 of 3 thread, ridx14 of 16, ridx16 of 16 vector, ridx17 of 14, ridx19 of 8 vector, ridx21 of 8 vector, ridx23 of 16 vector
loops ridx10 of 14 thread, ridx14 of 2 unroll, ridx15 of 2 unroll, ridx16 of 8 vector, ridx17 of 48, ridx18 of 3

== the operand of a narrow product is joined before
$ sh forms.sh narrow fuses
fuses concat stored
fuses permute reshape expand reshape expand fma sum

== what a softmax's sum and a product read are exponentials, in one loop over rows
$ sh forms.sh softmax fuses
fuses max reshape expand sub exp permute reshape expand stored sum reshape expand div reshape fma sum

== columns of f16 are converted once for all rows, whether their number is known or a variable
<<< half.vf
graph @half(%a: f16[128,256], %b: f16[256,n=57..64]) {
  %y = matmul %a, %b
  return %y
}
>>>
$ viewfold dump --stage=kernels half.vf | grep fuses
  fuses   cast stored
  fuses   cast stored
  fuses   permute reshape expand reshape expand fma sum cast
$ sed 's/n=57..64/64/' half.vf | viewfold dump --stage=kernels - | grep -c 'fuses   cast stored'
2

== each of forty stacked arrays is copied by a loop of its own, which tests nothing
$ { echo 'graph @g('; for i in $(seq 40); do echo "%x$i: f16[5,30]$([ $i = 40 ] || echo ,)"; done
>   echo ') {'; printf '  %%y = stack '; for i in $(seq 40); do printf %%x$i; printf "$([ $i = 40 ] || echo ,)"; done
>   printf ' axis=0\n  return %%y\n}\n'; } > many.vf
$ viewfold dump --stage=loops --target x86-64-v3 many.vf > loops; grep -c '^# kernel' loops; grep -c -e where -e ' if ' loops
? 1
40
0
$ viewfold check many.vf
check y: 6000 elements, bit-equal

== rows of a triangle are vectors, the last under a mask, where bytes have masked stores
<<< triangles.vf
graph @triangles(%x: u8[3,60,60], %z: f32[50,30,30]) {
  %y = tril %x
  %w = triu %z
  return %y, %w
}
>>>
$ for t in x86-64-v3 x86-64-v4; do viewfold dump --stage=loops --target $t triangles.vf | grep '^# kernel' | grep -c vector; done
0
6
$ viewfold check triangles.vf
check y: 10800 elements, bit-equal
check w: 45000 elements, bit-equal

== extrema of bytes are searched in as many lanes as their indices have in a vector
<<< best.vf
graph @best(%x: u8[5,4096]) {
  %y = argmax %x axis=0
  return %y
}
>>>
$ viewfold dump --stage=loops --target x86-64-v4 best.vf | grep '^# kernel'
\# kernel 0 nest 0: split a0 256; split a0 128; split a0 16; unroll a0.2; vector a0.3; thread a0.0
$ viewfold check best.vf
check y: 4096 elements, bit-equal

== of a few terms each, lanes are extrema, though these are as far apart
<<< few.vf
graph @few(%x: f64[4096,5], %z: u8[4096,5]) {
  %y = argmax %x axis=1
  %w = argmax %z axis=1
  return %y, %w
}
>>>
$ viewfold dump --stage=loops --target x86-64-v4 few.vf | grep '^# kernel' | grep -c vector
1
$ viewfold check few.vf
check y: 4096 elements, bit-equal
check w: 4096 elements, bit-equal
