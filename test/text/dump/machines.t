# What is decided for machines that are not at hand: each setting that is measured on a machine, or told by one, is
# given. Lines of a transposition, a concatenation, a chain and a sum, of 16 MiB each way or 64 MiB in all: how their
# loops are divided, and which of their accesses bypass the caches.

<<< copies.vf
graph @transposed(%x: f32[2048,2048]) {
  %y = permute %x order=[1,0]
  return %y
}
graph @joined(%a: f32[2048,1024], %b: f32[2048,1024]) {
  %y = concat %a, %b axis=1
  return %y
}
graph @chain(%x: f32[4194304], %y: f32[4194304]) {
  %a = mul %x, %y
  %h = add %a, 1
  return %h
}
graph @total(%x: f32[16777216]) {
  %s = sum %x axes=[0]
  return %s
}
>>>
<<< reshaped.vf
graph @reshaped(%a: f32[129,16], %b: f32[48,16]) {
  %c = permute %b order=[1,0] : f32[16,48]
  %t = add %a, 1.0 : f32[129,16]
  %y = sub %a, %t : f32[129,16]
  %p = matmul %y, %c : f32[129,48]
  %r = reshape %p shape=[516,12] : f32[516,12]
  return %r
}
graph @scaled(%a: f32[86,9], %b: f32[60,9], %c: f32[43,4,30]) {
  %t = permute %b order=[1,0] : f32[9,60]
  %u = add %a, 1.0 : f32[86,9]
  %y = mul %a, %u : f32[86,9]
  %p = matmul %y, %t : f32[86,60]
  %r = reshape %p shape=[43,4,30] : f32[43,4,30]
  %s = mul %r, %c : f32[43,4,30]
  return %s
}
>>>
<<< columns.vf
graph @columns(%x: f32[8192,8192]) {
  %s = sum %x axes=[0]
  return %s
}
>>>
<<< choices.sh
viewfold dump --stage=loops --target "fma=1 f16c=1 masks=1 dot2=1 parts=2097152 $1" copies.vf |
  sed -nE 's/^# kernel 0 //p; s/^graph .*//p; s/^kernel @([a-z]*_0).*/\1/p; s/^ *store .*( stream.*)/  store\1/p; s/^ *%.* = load .*( ahead.*stream).*/  load\1/p; s/^ *store p[^%]*%[0-9]*$/  store/p' | uniq
>>>
<<< joined.vf
graph @j(%x: f32[20,32], %from: i64[100], %to: i64[100], %w: f32[64]) {
  %0 = gather %x, %from axis=0 : f32[100,32]
  %1 = gather %x, %to axis=0 : f32[100,32]
  %2 = concat %0, %1 axis=1 : f32[100,64]
  %3 = mul %2, %w : f32[100,64]
  %y = sum %3 axes=[1] : f32[100]
  return %y
}
>>>

== 2 MiB of last cache
$ sh choices.sh 'vector_bytes=64 registers=32 l1=32768 l2=524288 l3=2097152'
nest 0: split a0 64; split a0 16; split a1 64; split a1 16; reorder a0.0 a1.0 a1.1 a0.1 a0.2 a1.2; unroll a0.2; vector a1.2; thread a0.0 a1.0
transposed_0
  store stream
nest 0: split a0 2; thread a0.0
nest 1: split a0 16; vector a0.1
nest 2: split a0 16; vector a0.1
joined_0
  store stream
nest 0: split a0 4096; split a0 16; vector a0.2; thread a0.0
chain_0
  store stream
nest 0: split a0 2; unroll a0.1; thread a0.0
total_0
  store

== 32 MiB
$ sh choices.sh 'vector_bytes=64 registers=32 l1=32768 l2=1048576 l3=33554432'
nest 0: split a0 16; split a1 16; reorder a0.0 a1.0 a0.1 a1.1; unroll a0.1; vector a1.1; thread a0.0
transposed_0
nest 0: split a0 2; thread a0.0
nest 1: split a0 16; vector a0.1
nest 2: split a0 16; vector a0.1
joined_0
nest 0: split a0 4096; split a0 16; vector a0.2; thread a0.0
chain_0
nest 0: split a0 2; unroll a0.1; thread a0.0
total_0
  store

== 32 MiB, with a processor that gains from non-temporal prefetches
$ sh choices.sh 'vector_bytes=64 registers=32 l1=32768 l2=1048576 l3=33554432 read_past=1'
nest 0: split a0 16; split a1 16; reorder a0.0 a1.0 a0.1 a1.1; unroll a0.1; vector a1.1; thread a0.0
transposed_0
nest 0: split a0 2; thread a0.0
nest 1: split a0 16; vector a0.1
nest 2: split a0 16; vector a0.1
joined_0
nest 0: split a0 4096; split a0 16; vector a0.2; thread a0.0
chain_0
nest 0: thread a0
total_0
  load ahead 512 stream
  store

== 512 MiB, all of it for one program
$ sh choices.sh 'vector_bytes=64 registers=32 l1=32768 l2=2097152 l3=536870912'
nest 0: split a0 16; split a1 16; reorder a0.0 a1.0 a0.1 a1.1; unroll a0.1; vector a1.1; thread a0.0
transposed_0
nest 0: split a0 2; thread a0.0
nest 1: split a0 16; vector a0.1
nest 2: split a0 16; vector a0.1
joined_0
nest 0: split a0 4096; split a0 16; vector a0.2; thread a0.0
chain_0
nest 0: split a0 2; unroll a0.1; thread a0.0
total_0
  store

== 512 MiB that a hundred share, of which 4 MiB were measured
$ sh choices.sh 'vector_bytes=64 registers=32 l1=32768 l2=2097152 l3=4194304'
nest 0: split a0 64; split a0 16; split a1 64; split a1 16; reorder a0.0 a1.0 a1.1 a0.1 a0.2 a1.2; unroll a0.2; vector a1.2; thread a0.0 a1.0
transposed_0
  store stream
nest 0: split a0 2; thread a0.0
nest 1: split a0 16; vector a0.1
nest 2: split a0 16; vector a0.1
joined_0
  store stream
nest 0: split a0 4096; split a0 16; vector a0.2; thread a0.0
chain_0
  store stream
nest 0: split a0 2; unroll a0.1; thread a0.0
total_0
  store

== AVX2, 8 MiB
$ sh choices.sh 'vector_bytes=32 registers=16 l1=32768 l2=262144 l3=8388608 read_past=1'
nest 0: split a0 32; split a0 8; split a1 8; reorder a0.0 a1.0 a0.1 a0.2 a1.1; unroll a0.2; vector a1.1; thread a0.0
transposed_0
  store stream
nest 0: split a0 2; thread a0.0
nest 1: split a0 8; vector a0.1
nest 2: split a0 8; vector a0.1
joined_0
  store stream
nest 0: split a0 4096; split a0 8; vector a0.2; thread a0.0
chain_0
  store stream
nest 0: thread a0
total_0
  load ahead 512 stream
  store

== sums of columns of a large parameter take a page of each row at a time, where that leaves blocks for eight threads
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 l2=1048576' columns.vf | grep -c 'split a0 1024;'
1
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 l2=1073741824' columns.vf | grep -c 'split a0 256;'
1
$ viewfold dump --stage=loops --target 'vector_bytes=32 registers=16 l2=1048576' columns.vf | grep -c 'split a0 512;'
1

== the number of threads changes no loop
$ viewfold dump --stage=loops copies.vf > two
$ VIEWFOLD_THREADS=64 viewfold dump --stage=loops copies.vf | cmp - two
$ VIEWFOLD_THREADS=1 viewfold dump --stage=loops copies.vf | cmp - two

== a product behind a reshape has lanes along its own columns, however wide panels are: its terms are added one by one
$ for t in 'vector_bytes=64 registers=32' 'vector_bytes=32 registers=32' 'vector_bytes=32 registers=16' 'vector_bytes=16 registers=16'; do viewfold dump --stage=loops --target "$t" reshaped.vf | awk '/vector with/ { along++ } END { print along + 0 }'; done
0
0
0
0

== where rows that are looked up are joined along the terms, vectors lie in one of them, and lanes run along the terms
$ viewfold dump --stage=loops --target 'vector_bytes=32 registers=16' joined.vf | grep -c 'in 0..16 vector'
2
$ viewfold check joined.vf > out

== a product whose columns are split into heads adds its terms in one order, whatever the width of vectors and so of panels
<<< heads.vf
graph @heads(%x: f32[1,102,48], %w: f32[48,48], %b: f32[48]) {
  %t = permute %w order=[1,0]
  %m = matmul %x, %t
  %s = add %m, %b
  %r = reshape %s shape=[1,102,4,12]
  %p = permute %r order=[0,2,1,3]
  %y = mul %p, 0.5
  return %y
}
>>>
$ for bytes in 64 32 16; do viewfold dump --stage=loops --target vector_bytes=$bytes heads.vf | grep -c 'vector with'; done
0
0
0
? 1

== where no register holds a bit for each lane, conditions that a loop carries stay in vectors, and all are tested at once
<<< conditions.vf
graph @any(%x: bool[8,1024]) {
  %y = any %x axes=[1]
  return %y
}
graph @all(%x: bool[8,1024]) {
  %y = all %x axes=[1]
  return %y
}
>>>
$ for t in x86-64-v3 x86-64; do viewfold dump --stage=asm --target $t conditions.vf | awk '/movmskb/ { tests++ } /p(extr|insr)[bw]|movb.*\(/ { lanes++ } END { print tests + 0, lanes + 0 }'; done
2 0
2 0
$ viewfold dump --stage=asm --target aarch64 conditions.vf | grep -cE 'umov|mov.v.*b\['
0
? 1

== vectors of half a line bypass the caches where two of them fill it, or one iteration follows another; not alone, lines apart
$ for w in 8 16; do printf 'graph @panels(%%x: f32[1000,4096]) {\n  %%r = reshape %%x shape=[1000,%d,%d]\n  %%y = permute %%r order=[1,0,2]\n  return %%y\n}\n' $((4096 / w)) $w > panels.vf; viewfold dump --stage=asm --target 'x86-64-v3 l3=1048576' panels.vf | grep -c vmovnt; done
0
2
$ printf 'graph @row(%%x: f32[4096000]) {\n  %%y = neg %%x\n  return %%y\n}\n' > row.vf; viewfold dump --stage=asm --target 'x86-64-v3 l3=1048576' row.vf | grep -c vmovnt
1

== without instructions for f16, what only moves such elements does not convert them
<<< moved.vf
graph @moved(%x: f16[8,64], %y: f16[8,64]) {
  %f = flip %x axes=[1]
  %p = pad %f pads=[[1,1],[0,0]]
  %q = pad %y pads=[[2,0],[0,0]]
  %r = concat %p, %q axis=1
  return %r
}
>>>
$ viewfold dump --stage=asm --target x86-64-v2 moved.vf | grep -cE 'addps|subps|cmp.*ps'
0
? 1

== without fused multiply-adds, vectors of f64 are computed by floats: the errors of products have the same bits
<<< errors.vf
graph @errors() {
  %i = iota axis=0 shape=[4096] dtype=f64
  %a = sin %i
  %h = mul %i, 0.7
  %b = cos %h
  %p = mul %a, %b
  %n = neg %p
  %e = fma %a, %b, %n
  return %e
}
>>>
$ viewfold run errors.vf --out e=with.npy > ran; viewfold run errors.vf --target fma=0 --out e=without.npy > ran; cmp with.npy without.npy
$ printf 'graph @f(%%a: f64[4096], %%b: f64[4096], %%c: f64[4096]) {\n  %%y = fma %%a, %%b, %%c\n  return %%y\n}\n' > fma.vf; viewfold dump --stage=asm --target x86-64-v2 fma.vf | grep -cE '(mul|add|sub)pd'
37
