# Rows that fill few lanes, and elementary functions beside them.

<<< pairs.vf
graph @pairs(%x: f64[1024,1], %y: f64[1024,2], %z: f64[1,2]) {
  %e = expand %x shape=[1024,2]
  %s = sqrt %e
  %p = mul %y, %z
  %r = add %s, %p
  return %r
}
>>>
<<< five.vf
graph @five(%x: f64[1024,1], %y: f64[1024,5], %z: f64[1,5]) {
  %e = expand %x shape=[1024,5]
  %s = sqrt %e
  %p = mul %y, %z
  %r = add %s, %p
  return %r
}
>>>
<<< beside.vf
graph @beside(%x: f32[4,4096], %y: f32[4096]) {
  %s = sum %x axes=[0]
  %c = cos %y
  %r = add %s, %c
  return %r
}
>>>
<<< halves.vf
graph @halves(%x: f32[384,48]) {
  %t = tanh %x
  %a, %b = split %t parts=2 axis=1
  %c = tanh %b
  %r = mul %a, %c
  return %r
}
>>>
<<< norm.vf
graph @norm(%x: f32[2048,7]) {
  %m = mean %x axes=[1] keepdims=true
  %c = sub %x, %m
  %e = erf %c
  %y = mul %e, %c
  return %y
}
>>>
<<< reversed.vf
graph @reversed(%x: f32[400,7]) {
  %s = stride %x steps=[1,-1]
  %q = rsqrt %s
  %a = abs %x
  %b = add %a, 1.0
  %r = div %q, %b
  return %r
}
>>>

== rows of half a vector and less: lanes go along the rows, elements of a row are unrolled, and values that a row shares are computed once; more are one masked vector where that is a whole one
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' pairs.vf
\# kernel 0 nest 0: split a0 8; split a1 2; reorder a0.0 a1.0 a1.1 a0.1; unroll a1.1; vector a0.1
kernel @pairs_0(p0: f64[2048], p1: f64[2], p2: f64[2048], p3: f64[1024]) {
  for ridx6 in 0..1 thread {
    for ridx7 in 0..128 {
      %0 = (ridx7*16) : index
      %1 = (ridx7*8) : index
      for ridx10 in 0..2 unroll {
        %2 = load p1[ridx10] : f64
        for ridx11 in 0..8 vector {
          %3 = load p3[(%1+ridx11)] : f64
          %4 = sqrt %3 : f64
          %5 = load p2[(%0+ridx10+(ridx11*2))] : f64
          %6 = mul %5, %2 : f64
          %7 = add %4, %6 : f64
          store p0[(%0+ridx10+(ridx11*2))] = %7
        }
      }
    }
  }
}
$ viewfold dump --stage=loops --target 'vector_bytes=16 registers=32' pairs.vf | grep '#'
\# kernel 0 nest 0: split a1 2; vector a1.1
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' five.vf | grep '#'
\# kernel 0 nest 0: split a1 8; vector a1.1

== elements picked from rows of a few are read in whole vectors along the rows, and stored alternately
<<< picked.vf
graph @picked(%x: f32[1000,3]) {
  %s = stride %x steps=[1,2]
  %r = stored %s
  return %r
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' picked.vf | grep -e '^#' -e load -e store
\# kernel 0 nest 0: split a0 16; split a1 2; reorder a0.0 a1.0 a1.1 a0.1; unroll a1.1; vector a0.1
          %3 = load p1[(%1+%2+(ridx11*3))] : f32
          store p0[(%0+ridx10+(ridx11*2))] = %3
        %5 = load p1[(%4+(ridx15*3)+2952)] : f32
        store p0[(ridx14+(ridx15*2)+1968)] = %5
$ viewfold check picked.vf > out

== what is computed of sums of few terms is unrolled as a chain without sums
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' beside.vf | grep '#'
\# kernel 0 nest 0: split a0 1024; split a0 64; split a0 16; unroll a0.2; vector a0.3; thread a0.0

== a function of a part of another function's values is computed apart from it
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' halves.vf | grep kernel
\# kernel 0 nest 0: split a0 4096; split a0 64; split a0 16; unroll a0.2; vector a0.3; thread a0.0
kernel @halves_0(p0: f32[18432], p1: f32[18432]) {
\# kernel 1 nest 0: split a0 256; split a1 16; vector a1.1; thread a0.0
kernel @halves_1(p0: f32[9216], p1: f32[18432]) {

== a view that reverses short rows is stored, so that what is computed of it has lanes
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' reversed.vf | grep '#'
\# kernel 0 nest 0: split a1 4; vector a1.1
\# kernel 1 nest 0: split a0 16; vector a0.1

== what is computed of results of short rows is stored in a row group, so that functions of it have whole vectors
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' norm.vf | grep -e kernel -e local
\# kernel 0 nest 0: split a0 2; thread a0.0
\# kernel 0 nest 1:
\# kernel 0 nest 2: split a1 4; vector a1.1
\# kernel 0 nest 3: split a0 64; split a0 16; unroll a0.1; vector a0.2
kernel @norm_0(p0: f32[14336], p1: f32[14336]) {
      local l0: f32[128] over (%0+ridx12)
      local l1: f32[896] over (%0+ridx12)

== also of few rows, as the function loses half of its lanes otherwise
<<< few.vf
graph @few(%x: f32[6,64,8], %w: f32[8], %b: f32[8]) {
  %n = layer_norm %x, %w, %b axis=-1
  %y = erf %n
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' few.vf | grep nest.5
\# kernel 0 nest 5: split a0 64; split a0 16; unroll a0.1; vector a0.2

== matrices of few columns are transposed in registers, in tiles of a power of two, of which two overlap
<<< few_columns.vf
graph @few_columns(%x: f32[100,34,13]) {
  %p = permute %x order=[0,2,1]
  %r = stored %p
  return %r
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' few_columns.vf | grep -e '^#' -e 'min('
\# kernel 0 nest 0: split a0 16; split a1 8; split a2 16; reorder a0.0 a0.1 a1.0 a2.0 a1.1 a2.1; unroll a1.1; vector a2.1; thread a0.0
    for ridx10 in 0..min(((ridx9*-16)+100), 16) {
        %2 = (min((ridx11*8), 5)) : index
$ viewfold check few_columns.vf > out

== functions below reductions of rows that fill no whole vectors have lanes over all rows; those that are terms of a norm, or read by others as well, stay
<<< reduced.vf
graph @sums(%x: f32[4096,100]) {
  %e = exp %x
  %y = sum %e axes=[1]
  return %y
}
graph @places(%x: f64[4096,64]) {
  %e = silu %x
  %y = argmax %e axis=1
  return %y
}
graph @whole(%x: f32[4096,64]) {
  %e = exp %x
  %y = sum %e axes=[1]
  return %y
}
graph @squares(%x: f32[4096,28]) {
  %e = exp %x
  %m = sum %e axes=[1] keepdims=true
  %c = sub %e, %m
  %q = mul %c, %c
  %y = sum %q axes=[1]
  return %y
}
>>>
$ for g in sums places whole squares; do viewfold dump --stage=kernels --graph $g --target 'vector_bytes=64 registers=32' reduced.vf | grep fuses; done
  fuses   exp stored sum
  fuses   sigmoid mul stored argmax
  fuses   exp sum
  fuses   exp stored sum reshape expand sub mul sum

== those of one matrix of whole words are picked element by element
$ printf '%s\n' 'graph @words(%x: f32[5000,6]) {' '  %y = permute %x order=[1,0]' '  return %y' '}' > words.vf
$ sed 's/,6/,7/' words.vf > odd.vf
$ for f in words odd; do viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' $f.vf | grep -o 'split a0 .'; done
split a0 6
split a0 4
