# How contractions are recognised, copied and tiled. test/property/prop_contract.c checks what they compute.
<<< product.vf
graph @transposed(%a: f32[256,128], %b: f32[256,128]) {
  %t = permute %b order=[1,0]
  %y = matmul %a, %t
  %r = relu %y
  return %r
}
graph @written(%a: f32[256,128], %b: f32[256,128]) {
  %x = reshape %a shape=[256,1,128]
  %y = reshape %b shape=[1,256,128]
  %xy = mul %x, %y
  %s = sum %xy axes=[2]
  %r = relu %s
  return %r
}
graph @rowwise(%a: f32[4096,300], %b: f32[4096,300]) {
  %ab = mul %a, %b
  %s = sum %ab axes=[1]
  return %s
}
graph @narrow(%a: f32[500,1024], %b: f32[1024,500]) {
  %y = matmul %a, %b
  return %y
}
graph @bytes(%a: i8[128,129], %b: u8[129,100]) {
  %y = matmul %a, %b
  return %y
}
graph @quantised(%a: u8[128,128], %b: i8[128,100]) {
  %a32 = cast %a dtype=i32
  %az = sub %a32, 128
  %b32 = cast %b dtype=i32
  %y = matmul %az, %b32
  return %y
}
graph @wide(%a: u16[128,128], %b: i8[128,100]) {
  %a32 = cast %a dtype=i32
  %b32 = cast %b dtype=i32
  %y = matmul %a32, %b32
  return %y
}
graph @conv(%x: f32[1,32,28,28], %w: f32[64,32,3,3]) {
  %y = conv %x, %w padding=[1,1]
  return %y
}
graph @channels(%x: f32[4,64,40,40], %w: f32[64,1,3,3]) {
  %y = conv %x, %w padding=[1,1] groups=64
  return %y
}
>>>
<<< odd.vf
graph @odd(%x: f32[1,1255,15,15], %w: f32[17,1255,1,1]) {
  %y = conv %x, %w
  return %y
}
graph @batch(%x: bf16[1,8,14,16], %w: bf16[16,144]) {
  %p = pad %x pads=[[0,0],[1,2],[0,0],[0,0]] mode=reflect
  %e = expand %p shape=[4,11,14,16]
  %s = shrink %e bounds=[[0,4],[0,11],[0,1],[0,16]]
  %y = matmul %s, %w
  return %y
}
graph @squares(%x: f32[12,8,8], %z: f32[12,8,8]) {
  %t = permute %z order=[0,2,1]
  %y = matmul %x, %t
  return %y
}
graph @converted(%x: f16[8,14,14]) {
  %t = permute %x order=[0,2,1]
  %y = matmul %x, %t
  return %y
}
graph @padded(%x: f32[1,197,7,7]) {
  %p = pad %x pads=[[0,0],[0,0],[2,1],[2,1]]
  %t = permute %p order=[0,1,3,2]
  %y = matmul %p, %t
  return %y
}
graph @strided(%a: u8[3,17], %b: u8[17,3072]) {
  %p = matmul %a, %b
  %y = stride %p steps=[1,2]
  return %y
}
>>>

== a column-major operand is copied into panels; activations are fused into the tile
$ viewfold dump --graph transposed --print-after=pack --target 'vector_bytes=64 registers=32' product.vf | grep stored
  %9 = stored %8 : f32[1,8,128,32]
$ viewfold dump --graph transposed --stage=loops --target 'vector_bytes=64 registers=32' product.vf > loops
$ grep '# kernel 1' loops
\# kernel 1 nest 0: split a0 8; split a1 32; split a1 16; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0 a0.0
$ grep -c 'fma\|where' loops
2

== panels are as wide as a tile, on any machine
$ viewfold dump --graph transposed --print-after=pack --target 'vector_bytes=32 registers=16' product.vf | grep stored
  %9 = stored %8 : f32[1,16,128,16]

== no divisions inside tiles, nor in the remainder of a width that is no multiple of the tile
$ viewfold dump --graph narrow --stage=loops --target 'vector_bytes=64 registers=32' product.vf | grep -e 'load.*//' -e '//.*load'
? 1

== integers of at most 16 bits are multiplied two at a time, an odd last term padded with a zero; wider ones are not
$ for g in bytes quantised wide; do viewfold dump --graph $g --stage=loops --target 'dot2=1 dot4=0' product.vf | grep -o 'dot2\|mul' | sort -u; done
dot2
dot2
mul
$ viewfold dump --graph bytes --stage=loops --target 'dot2=0 dot4=0' product.vf | grep -o 'dot2\|mul' | sort -u
mul
$ viewfold dump --graph bytes --print-after=pack --target 'dot2=1 dot4=0' product.vf | grep -o 'dot2.*'
dot2 [..] : i32[128,100,65]

== integers of 8 bits are multiplied four at a time, where the processor does; what was added to them to make them unsigned is added to the result
$ for g in bytes quantised wide; do viewfold dump --graph $g --stage=loops --target 'dot4=1' product.vf | grep -o 'dot4\|dot2' | sort -u; done
dot4
dot4
$ viewfold dump --graph quantised --print-after=copies --target 'dot4=1 vector_bytes=64' product.vf | grep 'dot4\|sum \|mul\|add'
  %47 = sum %27 axes=[2] : i32[1,100]
  %50 = mul %49, -128 : i32[128,100]
  %66 = dot4 %65, %62 : i32[128,100,32]
  %67 = sum %66 axes=[2] : i32[128,100]
  %y = add %67, %50 : i32[128,100]

== a product written out as a broadcast multiplication and a sum is the same contraction
$ for g in transposed written; do viewfold dump --graph $g --stage=loops product.vf | sed -n '/_1(/,$p' | sed 's/@[a-z]*//'; done | sort | uniq -u

== sums of products whose operands share all axes are not contractions: their rounding is kept
$ viewfold dump --graph rowwise --stage=loops product.vf | grep -c fma
? 1
0

== a convolution: padding is done first, vector lanes are channels, the result is transposed back
$ viewfold dump --graph conv --print-after=pack --target 'vector_bytes=64 registers=32' product.vf | grep stored
  [..] = stored [..] : f32[1,1,2,1,1,32,3,3,32]
  [..] = stored [..] : f32[1,32,30,30]
  [..] = stored [..] : f32[1,1,28,28,64]

== a depthwise convolution: its nine terms are unrolled, and four rows share loads
$ viewfold dump --graph channels --stage=loops --target 'vector_bytes=64 registers=32' product.vf | sed -n '/kernel 1/,$p' > loops
$ grep '# kernel' loops
\# kernel 1 nest 0: split a2 4; split a3 16; reorder a0 a1 a2.0 a3.0 a2.1 a3.1; unroll a2.1; vector a3.1; thread a0 a1
$ grep -c -e ' if ' -e 'with' loops
? 1
0

== channels that no number of chunks divides are summed up in one step: padded products would be no contraction
$ viewfold dump --graph odd --print-after=split odd.vf | sed -n '/after split/,$p' | grep -c ' sum '
1

== products of weights that are repeated for a batch, and converted, are not stored before they are summed up
$ viewfold dump --graph batch --print-after=pack odd.vf | grep -c 'stored .* : f32.*144,16'
? 1
0

== rows and columns of few terms: columns are copied, as lanes along the terms would be combined for each result
$ viewfold dump --graph squares --print-after=pack --target 'vector_bytes=64 registers=32' odd.vf | grep -c stored
1

== a converted view is not read in the order that it has, and padding makes no windows
$ viewfold dump --graph converted --print-after=pack --target 'vector_bytes=64 registers=32' odd.vf | grep -c stored
2
$ viewfold dump --graph padded --print-after=pack --target 'vector_bytes=64 registers=32' odd.vf | grep -c 'stored.*,10,16]'
1

== every other column of a product of few rows is taken from all of them
$ viewfold dump --graph strided --print-after=order odd.vf | grep -c stored
1

== positions whose columns a mask selects among are one axis of the product, which is stored along it
<<< selected.vf
graph @selected(%x: f32[1,256,14,14], %w: f32[128,256,1,1], %m: bool[14]) {
  %c = conv %x, %w
  %y = where %m, %c, 0.0
  return %y
}
graph @residual(%r: f32[1,128,14,14], %x: f32[1,256,14,14], %w: f32[128,256,1,1], %m: bool[14]) {
  %c = conv %x, %w
  %s = add %r, %c
  %y = where %m, %s, 0.0
  return %y
}
graph @shifted(%x: f32[1,256,14,14], %w: f32[128,256,1,1], %b: f32[128]) {
  %c = conv %x, %w, %b
  %y = relu %c
  return %y
}
>>>
$ for g in selected residual shifted; do viewfold dump --graph $g --print-after=pack --target 'vector_bytes=64 registers=32' selected.vf | grep -c 'stored .* : f32.1,1,128,196.' || true; done
1
1
0

== products of bf16 go in pairs where the graph allows it: over one axis where that is one instruction, over several always
<<< bf16.vf
graph @product(%a: bf16[128,129], %b: bf16[129,100]) {
  %y = matmul %a, %b
  return %y
}
graph @conv(%x: bf16[1,32,28,28], %w: bf16[64,32,3,3]) {
  %y = conv %x, %w padding=1
  return %y
}
>>>
$ for g in product conv; do for p in exact relaxed; do VIEWFOLD_PRECISION=$p viewfold dump --graph $g --stage=loops --target 'fma2=1' bf16.vf | grep -o 'fma2\?' | sort -u; done; done
fma
fma2
fma
fma2
$ for g in product conv; do VIEWFOLD_PRECISION=relaxed viewfold dump --graph $g --stage=loops --target 'fma2=0' bf16.vf | grep -o 'fma2\?' | sort -u; done
fma
fma2
$ VIEWFOLD_PRECISION=relaxed viewfold dump --graph product --print-after=copies --target 'fma2=1' bf16.vf | grep -o 'fma2.*' | sed 's/%[0-9]*/%/g'
fma2 %, %, % : f32[128,100,65]
$ VIEWFOLD_PRECISION=relaxed viewfold dump --graph product --print-after=copies --target 'fma2=1' bf16.vf > words.vf && viewfold pass copies --target 'fma2=1' words.vf | grep -c fma2
1
$ printf 'graph @f(%%a: f32[2]) {\n  %%y = fma2 %%a, %%a, 0.0\n  return %%y\n}\n' | viewfold dump --stage=graph -
! <stdin>:2:3: error: fma2: an operand has shape f32[2]; words of two bf16 are u32: bitcast it
? 2

== rows that are read backwards are not prefetched
<<< back.vf
graph @back(%a: f32[1791], %b: f32[1791,1200]) {
  %f = flip %b axes=[0]
  %y = matmul %a, %f
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' back.vf | grep -c ahead
0
? 1

== the first term of a pair is added first: the bits of exact sums, of a machine with the instruction and of one without
<<< pairs.vf
graph @data() {
  %i = iota shape=[31000] dtype=f32
  %s = sin %i
  return %s
}
graph @product(%s: f32[31000]) {
  %t = cast %s dtype=bf16
  %v = slice %t start=[0] size=[5160]
  %a = reshape %v shape=[40,129]
  %w = slice %t start=[6000] size=[6192]
  %b = reshape %w shape=[129,48]
  %c = cast %a dtype=f32
  %d = cast %b dtype=f32
  %y = matmul %c, %d
  return %y
}
graph @conv(%s: f32[31000]) {
  %t = cast %s dtype=bf16
  %v = slice %t start=[0] size=[3703]
  %a = reshape %v shape=[1,23,7,23]
  %w = slice %t start=[6000] size=[3312]
  %b = reshape %w shape=[16,23,3,3]
  %c = cast %a dtype=f32
  %d = cast %b dtype=f32
  %y = conv %c, %d padding=1
  return %y
}
>>>
$ none=fma2=0; if [ "$(uname -m)" = x86_64 ]; then none=x86-64-v2; fi; echo $none > none; viewfold run --graph data pairs.vf --out s=s.npy > shown
$ for g in product conv; do for p in exact relaxed; do VIEWFOLD_PRECISION=$p viewfold run --graph $g pairs.vf --in s=s.npy --out y=$g.$p.npy > shown; VIEWFOLD_PRECISION=$p viewfold run --graph $g pairs.vf --in s=s.npy --target $(cat none) --out y=none.npy > shown; cmp $g.$p.npy none.npy; done; cmp -s $g.exact.npy $g.relaxed.npy && echo same bits || echo another order; done
same bits
another order
