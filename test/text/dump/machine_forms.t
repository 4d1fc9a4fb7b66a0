# The forms that are chosen for a dozen machines, each told by its settings: how the loops of each kernel are divided, and
# what is read ahead or stored past the caches. What is reasonable:
#
#   transposed  16 MiB read and written: register tiles of half the registers or a vector square; where the last cache
#               holds less than both, stores are non-temporal, and four tiles beside one another fill lines
#   sum         two streams, and prefetches 2 KiB ahead: memory is read once, whatever the caches; where non-temporal
#               prefetches were measured to help, those, of one stream
#   columns     as much of each row as a page or 64 vectors, the rows that come next prefetched; where the array is in
#               the L2 cache, half of the registers hold sums
#   norm        rows of 4 KiB, two rows ahead; a result that no cache holds is stored past it
#   product     operands packed, then tiles whose sums leave registers to the operands: 6 x 2 vectors of 16, 12 x 2 of 32,
#               with prefetches of the columns
#
# The number of threads is none of the settings: it changes no loop (the last case), only who runs its blocks.

<<< forms.vf
graph @transposed(%x: f32[2048,2048]) {
  %y = permute %x order=[1,0]
  return %y
}
graph @sum(%x: f32[16777216]) {
  %s = sum %x axes=[0]
  return %s
}
graph @columns(%x: f32[8192,8192]) {
  %s = sum %x axes=[0]
  return %s
}
graph @norm(%x: f32[4096,1024]) {
  %y = softmax %x axis=-1
  return %y
}
graph @product(%a: f32[1024,1024], %b: f32[1024,1024]) {
  %y = matmul %a, %b
  return %y
}
>>>
<<< forms.sh
viewfold dump --stage=loops --target "fma=1 f16c=1 parts=2097152 $1" forms.vf |
  sed -nE 's/^# kernel [0-9]+ nest 0: /  /p; s/^kernel @([a-z]*_[0-9]).*/\1/p; s/^ *store p0.* (stream[a-z ]*)$/  store \1/p
    s/^ *%[0-9]+ = load p[^ ]* (ahead .*) : .*/  load \1/p' | uniq
>>>

== 128-bit vectors, 2 MiB of last cache
$ sh forms.sh 'vector_bytes=16 registers=16 masks=0 l1=32768 l2=262144 l3=2097152'
  split a0 16; split a0 4; split a1 4; reorder a0.0 a1.0 a0.1 a0.2 a1.1; unroll a0.2; vector a1.1; thread a0.0
transposed_0
  store stream
  split a0 2; unroll a0.1; thread a0.0
sum_0
sum_1
  split a0 256; split a0 4; unroll a0.1; vector a0.2; thread a0.0
columns_0
  load ahead 65536
  thread a0
norm_0
  load ahead 2048
  store stream
  split a1 4; split a2 8; split a2 4; reorder a1.0 a1.1 a0 a2.0 a2.1 a2.2; unroll a2.1; vector a2.2; thread a1.0
product_0
  store stream
  split a0 6; split a1 8; split a1 4; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0
product_1
  load ahead 256
  store stream

== AVX2, 512 KiB in all
$ sh forms.sh 'vector_bytes=32 registers=16 masks=1 l1=32768 l2=131072 l3=524288'
  split a0 32; split a0 8; split a1 8; reorder a0.0 a1.0 a0.1 a0.2 a1.1; unroll a0.2; vector a1.1; thread a0.0
transposed_0
  store stream
  split a0 2; unroll a0.1; thread a0.0
sum_0
sum_1
  split a0 512; split a0 8; unroll a0.1; vector a0.2; thread a0.0
columns_0
  load ahead 65536
  thread a0
norm_0
  load ahead 2048
  store stream
  split a1 4; split a2 16; split a2 8; reorder a1.0 a1.1 a0 a2.0 a2.1 a2.2; unroll a2.1; vector a2.2; thread a1.0
product_0
  store stream
  split a0 6; split a1 16; split a1 8; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0
product_1
  load ahead 256
  store stream

== AVX2, 2 MiB
$ sh forms.sh 'vector_bytes=32 registers=16 masks=1 l1=32768 l2=262144 l3=2097152'
  split a0 32; split a0 8; split a1 8; reorder a0.0 a1.0 a0.1 a0.2 a1.1; unroll a0.2; vector a1.1; thread a0.0
transposed_0
  store stream
  split a0 2; unroll a0.1; thread a0.0
sum_0
sum_1
  split a0 512; split a0 8; unroll a0.1; vector a0.2; thread a0.0
columns_0
  load ahead 65536
  thread a0
norm_0
  load ahead 2048
  store stream
  split a1 4; split a2 16; split a2 8; reorder a1.0 a1.1 a0 a2.0 a2.1 a2.2; unroll a2.1; vector a2.2; thread a1.0
product_0
  store stream
  split a0 6; split a1 16; split a1 8; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0
product_1
  load ahead 256
  store stream

== AVX2, 8 MiB
$ sh forms.sh 'vector_bytes=32 registers=16 masks=1 l1=32768 l2=262144 l3=8388608'
  split a0 32; split a0 8; split a1 8; reorder a0.0 a1.0 a0.1 a0.2 a1.1; unroll a0.2; vector a1.1; thread a0.0
transposed_0
  store stream
  split a0 2; unroll a0.1; thread a0.0
sum_0
sum_1
  split a0 512; split a0 8; unroll a0.1; vector a0.2; thread a0.0
columns_0
  load ahead 65536
  thread a0
norm_0
  load ahead 2048
  store stream
  split a1 4; split a2 16; split a2 8; reorder a1.0 a1.1 a0 a2.0 a2.1 a2.2; unroll a2.1; vector a2.2; thread a1.0
product_0
  split a0 6; split a1 16; split a1 8; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0
product_1
  load ahead 256

== AVX2, 32 MiB
$ sh forms.sh 'vector_bytes=32 registers=16 masks=1 l1=32768 l2=524288 l3=33554432'
  split a0 16; split a0 8; split a1 8; reorder a0.0 a1.0 a0.1 a0.2 a1.1; unroll a0.2; vector a1.1; thread a0.0
transposed_0
  split a0 2; unroll a0.1; thread a0.0
sum_0
sum_1
  split a0 512; split a0 8; unroll a0.1; vector a0.2; thread a0.0
columns_0
  load ahead 65536
  thread a0
norm_0
  load ahead 2048
  split a1 4; split a2 16; split a2 8; reorder a1.0 a1.1 a0 a2.0 a2.1 a2.2; unroll a2.1; vector a2.2; thread a1.0
product_0
  split a0 6; split a1 16; split a1 8; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0
product_1
  load ahead 256

== AVX-512, 2 MiB
$ sh forms.sh 'vector_bytes=64 registers=32 masks=1 l1=32768 l2=1048576 l3=2097152'
  split a0 64; split a0 16; split a1 64; split a1 16; reorder a0.0 a1.0 a1.1 a0.1 a0.2 a1.2; unroll a0.2; vector a1.2; thread a0.0 a1.0
transposed_0
  store stream
  split a0 2; unroll a0.1; thread a0.0
sum_0
sum_1
  split a0 1024; split a0 16; unroll a0.1; vector a0.2; thread a0.0
columns_0
  load ahead 65536
  thread a0
norm_0
  load ahead 2048
  store stream
  split a1 128; split a2 32; split a2 16; unroll a2.1; vector a2.2; thread a0 a1.0
product_0
  store stream
  split a0 8; split a1 32; split a1 16; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0 a0.0
product_1
  load ahead 2048
  store stream

== AVX-512, 32 MiB
$ sh forms.sh 'vector_bytes=64 registers=32 masks=1 l1=32768 l2=1048576 l3=33554432 read_ahead=1'
  split a0 16; split a1 16; reorder a0.0 a1.0 a0.1 a1.1; unroll a0.1; vector a1.1; thread a0.0
transposed_0
  split a0 2; unroll a0.1; thread a0.0
sum_0
  load ahead 512
sum_1
  split a0 1024; split a0 16; unroll a0.1; vector a0.2; thread a0.0
columns_0
  load ahead 65536
  thread a0
norm_0
  load ahead 2048
  split a1 128; split a2 32; split a2 16; unroll a2.1; vector a2.2; thread a0 a1.0
product_0
  split a0 8; split a1 32; split a1 16; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0 a0.0
product_1
  load ahead 2048

== AVX-512, 32 MiB, and non-temporal prefetches help
$ sh forms.sh 'vector_bytes=64 registers=32 masks=1 l1=32768 l2=1048576 l3=33554432 read_past=1'
  split a0 16; split a1 16; reorder a0.0 a1.0 a0.1 a1.1; unroll a0.1; vector a1.1; thread a0.0
transposed_0
  thread a0
sum_0
  load ahead 512 stream
sum_1
  split a0 1024; split a0 16; unroll a0.1; vector a0.2; thread a0.0
columns_0
  load ahead 65536
  thread a0
norm_0
  load ahead 2048
  split a1 128; split a2 32; split a2 16; unroll a2.1; vector a2.2; thread a0 a1.0
product_0
  split a0 8; split a1 32; split a1 16; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0 a0.0
product_1
  load ahead 2048

== AVX-512, 512 MiB for one program
$ sh forms.sh 'vector_bytes=64 registers=32 masks=1 l1=32768 l2=2097152 l3=536870912'
  split a0 16; split a1 16; reorder a0.0 a1.0 a0.1 a1.1; unroll a0.1; vector a1.1; thread a0.0
transposed_0
  split a0 2; unroll a0.1; thread a0.0
sum_0
sum_1
  split a0 1024; split a0 16; unroll a0.1; vector a0.2; thread a0.0
columns_0
  load ahead 65536
  thread a0
norm_0
  load ahead 2048
  split a1 128; split a2 32; split a2 16; unroll a2.1; vector a2.2; thread a0 a1.0
product_0
  split a0 8; split a1 32; split a1 16; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0 a0.0
product_1
  load ahead 2048

== AVX-512, 512 MiB that a hundred share, of which 4 MiB were measured
$ sh forms.sh 'vector_bytes=64 registers=32 masks=1 l1=32768 l2=2097152 l3=4194304'
  split a0 64; split a0 16; split a1 64; split a1 16; reorder a0.0 a1.0 a1.1 a0.1 a0.2 a1.2; unroll a0.2; vector a1.2; thread a0.0 a1.0
transposed_0
  store stream
  split a0 2; unroll a0.1; thread a0.0
sum_0
sum_1
  split a0 1024; split a0 16; unroll a0.1; vector a0.2; thread a0.0
columns_0
  load ahead 65536
  thread a0
norm_0
  load ahead 2048
  store stream
  split a1 128; split a2 32; split a2 16; unroll a2.1; vector a2.2; thread a0 a1.0
product_0
  store stream
  split a0 8; split a1 32; split a1 16; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0 a0.0
product_1
  load ahead 2048
  store stream

== AVX-512, an L2 cache that holds everything
$ sh forms.sh 'vector_bytes=64 registers=32 masks=1 l1=65536 l2=1073741824 l3=1073741824'
  split a0 16; split a1 16; reorder a0.0 a1.0 a0.1 a1.1; unroll a0.1; vector a1.1; thread a0.0
transposed_0
  thread a0
sum_0
sum_1
  split a0 256; split a0 16; unroll a0.1; vector a0.2; thread a0.0
columns_0
  thread a0
norm_0
  load ahead 2048
  split a1 128; split a2 32; split a2 16; unroll a2.1; vector a2.2; thread a0 a1.0
product_0
  split a0 12; split a1 32; split a1 16; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0 a0.0
product_1
  load ahead 2048

== 128-bit vectors in 32 registers
$ sh forms.sh 'vector_bytes=16 registers=32 masks=0 l1=65536 l2=1048576 l3=8388608'
  split a0 16; split a0 4; split a1 4; reorder a0.0 a1.0 a0.1 a0.2 a1.1; unroll a0.2; vector a1.1; thread a0.0
transposed_0
  store stream
  split a0 2; unroll a0.1; thread a0.0
sum_0
sum_1
  split a0 256; split a0 4; unroll a0.1; vector a0.2; thread a0.0
columns_0
  load ahead 65536
  thread a0
norm_0
  load ahead 2048
  store stream
  split a2 8; split a2 4; unroll a2.1; vector a2.2; thread a0
product_0
  split a0 8; split a1 8; split a1 4; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0
product_1

== 64 threads, or one
$ for t in 64 1; do VIEWFOLD_THREADS=$t viewfold dump --stage=loops forms.vf > loops$t; done
$ cmp loops64 loops1
