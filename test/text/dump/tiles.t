# The shape of register tiles, the width of panels, and what tiles prefetch. test/property/prop_contract.c checks what they
# compute.
<<< tiles.vf
graph @many(%a: f32[128,384], %b: f32[384,1536]) {
  %y = matmul %a, %b
  return %y
}
graph @short(%a: f32[128,24], %b: f32[2048,24]) {
  %t = permute %b order=[1,0]
  %y = matmul %a, %t
  return %y
}
graph @power(%x: f32[64]) {
  %y = exp %x
  return %y
}
graph @narrow(%a: f32[128,384], %b: f32[48,384]) {
  %t = permute %b order=[1,0]
  %y = matmul %a, %t
  return %y
}
>>>
<<< shape.sh
viewfold dump --graph "$1" --stage=loops --target 'vector_bytes=64 registers=32' tiles.vf > loops
grep '^#' loops | grep -o 'split a0 [0-9]*; split a1 [0-9]*; split a1 16; reorder' || true
>>>

== panels are as wide as the tile that takes least time for the rows: here one that reads each panel 16 times, not 32
$ sh shape.sh many
split a0 8; split a1 48; split a1 16; reorder

== of few terms rows are stored in more bytes together
$ sh shape.sh short
$ grep -o '^# kernel 1 .* reorder' loops
\# kernel 1 nest 0: split a0 4; split a2 64; split a2 16; reorder

== all columns that one tile can have are one panel, which is not filled up
$ sh shape.sh narrow
split a0 8; split a1 48; split a1 16; reorder
$ grep -c 'f32(0.0)$' loops
? 1
0

== loads of columns prefetch what the tile reads 1 KiB later, before other loads, so that these hold no registers
$ sh shape.sh many > /dev/null; grep -o 'ahead .*:.*' loops
ahead 240 : f32
$ viewfold dump --graph many --stage=asm --target 'triple=x86_64-unknown-linux-gnu features=+avx512f,+fma,+avx2 vector_bytes=64 registers=32 fma=1' tiles.vf > asm
$ grep -oE 'prefetcht0|vbroadcastss|vfmadd231ps.*rsp' asm | uniq
prefetcht0
vbroadcastss

== an exponential that rounds to 0 takes no subnormal number on the way: its second factor is 0
$ viewfold dump --graph power --stage=loops tiles.vf | grep -c 'where .*, f32(0.0), '
1

== of vectors of 16 bytes a panel has an even number, or else its columns are not known as such
<<< rows.vf
graph @rows(%x: f32[128,384], %w: f32[384,1152]) {
  %y = matmul %x, %w
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=16 registers=32' rows.vf | grep '^# kernel 1'
\# kernel 1 nest 0: split a0 8; split a1 8; split a1 4; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0

== eight rows read columns that come from memory, 16 MiB or more, from panels; panels and other copies of short pieces go in the order of what is read; where rows of the result are pages apart, an odd number of columns goes in blocks of a page as well; what an L2 cache does not hold is read in pieces of four vectors
<<< far.vf
graph @panels(%a: f32[8,1000], %b: f32[1000,4224]) {
  %y = matmul %a, %b
  return %y
}
graph @near(%a: f32[8,1000], %b: f32[1000,4128]) {
  %y = matmul %a, %b
  return %y
}
graph @pieces(%a: f32[12,1000], %b: f32[1000,1100]) {
  %y = matmul %a, %b
  return %y
}
graph @heads(%x: f32[8,256,12,64]) {
  %y = permute %x order=[0,2,1,3]
  %z = add %y, 1.0
  return %z
}
graph @blocks(%a: f32[72,14], %b: f32[14,60001]) {
  %y = matmul %a, %b
  return %y
}
>>>
$ for g in panels near heads blocks; do viewfold dump --graph $g --stage=loops --target 'vector_bytes=64 registers=32 l2=1048576 l3=33554432' far.vf | sed -n 's/^# kernel \([01]\) nest 0: .*reorder \([^;]*\);.*/\1 \2/p'; done
0 a1 a0 a2.0 a2.1 a2.2
1 a1.0 a0.0 a0.1 a1.1 a1.2
0 a1.0 a0.0 a0.1 a1.1 a1.2
0 a0 a2.0 a2.1 a1 a3.0 a3.1 a3.2
0 a1.0 a0.0 a1.1 a0.1 a1.2 a1.3
$ for l2 in 524288 2097152; do viewfold dump --graph pieces --stage=loops --target "vector_bytes=64 registers=32 l2=$l2 l3=33554432" far.vf | grep -o 'split a0 [0-9]*; split a1 [0-9]*'; done
split a0 6; split a1 64
split a0 12; split a1 32

== of few terms, tiles are in the order of a large result whose rows are a page or more: after all columns come the next rows
<<< few_terms.vf
graph @wide(%a: f32[500,8], %b: f32[8,1551]) {
  %p = matmul %a, %b
  return %p
}
graph @batch(%a: f32[16,277,6], %b: f32[16,6,1308]) {
  %p = matmul %a, %b
  return %p
}
graph @narrow(%a: f32[5000,8], %b: f32[8,200]) {
  %p = matmul %a, %b
  return %p
}
graph @terms(%a: f32[500,32], %b: f32[32,1551]) {
  %p = matmul %a, %b
  return %p
}
>>>
$ for g in wide batch narrow terms; do viewfold dump --stage=loops --graph $g --target 'vector_bytes=64 registers=32 l2=1048576 l3=33554432' few_terms.vf | grep '^# kernel 1 nest 0' | grep -o 'reorder[^;]*'; done
reorder a0.0 a1.0 a0.1 a1.1 a1.2
reorder a0 a1.0 a2.0 a1.1 a2.1 a2.2
reorder a0.0 a1.0 a0.1 a0.2 a1.1 a1.2
reorder a0.0 a1.0 a0.1 a0.2 a1.1 a1.2
