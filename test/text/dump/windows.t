# Convolutions and pooling: which multiplications there are, along which axis the lanes run, what is stored.
<<< up.vf
graph @up(%x: f32[2,64,32,32], %w: f32[64,32,2,2]) {
  %y = conv_transpose %x, %w stride=2
  return %y
}
>>>

<<< thirds.vf
graph @thirds(%x: f32[1,64,32,32], %w: f32[64,64,3,3]) {
  %y = conv_transpose %x, %w stride=2 padding=1
  return %y
}
>>>

<<< values.vf
graph @values(%x: f32[1,1,2], %w: f32[1,1,1], %v: f32[1,1,2]) {
  %one = conv_transpose %x, %w stride=2
  %two = conv_transpose %x, %v stride=3 padding=1 output_padding=2
  return %one, %two
}
>>>

<<< few_terms.vf
graph @few(%x: f32[4,24,56,50], %w: f32[128,24,1,1]) {
  %y = conv %x, %w
  return %y
}
>>>

<<< small_pool.vf
graph @pool(%x: f32[64,55,55]) {
  %y = max_pool %x kernel=[3,3] stride=[2,2]
  return %y
}
>>>

<<< seven.vf
graph @channelwise(%x: f32[1,64,14,14], %w: f32[64,1,5,5]) {
  %y = conv %x, %w stride=2 padding=2 groups=64
  return %y
}
>>>

<<< pool.vf
graph @pool(%x: f32[8,112,112]) {
  %y = max_pool %x kernel=[3,3] stride=[2,2] padding=[1,1]
  return %y
}
>>>

<<< channelwise.vf
graph @channelwise(%x: f32[1,8,32,32], %w: f32[8,1,3,3]) {
  %y = conv %x, %w stride=2 padding=1 groups=8
  return %y
}
>>>

<<< shortcut.vf
graph @shortcut(%x: f32[28,28,256], %w: f32[256,512], %r: f32[512,28,28]) {
  %p = matmul %x, %w
  %s = stored %p
  %t = permute %s order=[2,0,1]
  %y = add %t, %r
  return %y
}
>>>

<<< positions.vf
graph @few(%x: f32[1,320,7,7]) {
  %w = data file="w" offset=0 name="w" shape=[1280,320,1,1] dtype=f32
  %y = conv %x, %w
  return %y
}

graph @many(%x: f32[1,320,20,20]) {
  %w = data file="w" offset=0 name="w" shape=[1280,320,1,1] dtype=f32
  %y = conv %x, %w
  return %y
}
>>>

<<< dense.vf
graph @dense(%x: f32[512,512], %y: f32[512,512]) {
  %p = matmul %x, %y
  return %p
}

graph @rows(%x: f32[3136,64], %y: f32[64,256]) {
  %p = matmul %x, %y
  return %p
}

graph @thin(%x: f32[512,32], %y: f32[32,512]) {
  %p = matmul %x, %y
  return %p
}
>>>

== a transposed convolution multiplies by no zeros between the elements: 2 * 64*32*32 elements by 32*2*2 of the weight
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32' up.vf | grep -o '[0-9][0-9]* operations'
131072 operations
33816576 operations
0 operations

== phases of a weight of three elements have two or one of them: 2.25 products for each channel and element in the middle
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32' thirds.vf | sed -n 's/.* \([0-9]*\) operations/\1/p' | awk '{ all += $1 } END { print all < 80000000 }'
1

== elements of the result that no element of the weight reaches are 0, whatever the weight
$ viewfold run values.vf --in 'x=[[[1,2]]]' --in 'w=[[[inf]]]' --in 'v=[[[inf,inf]]]'
one: f32[1,1,3] = [[[inf, 0.0, inf]]]
two: f32[1,1,5] = [[[inf, 0.0, inf, inf, 0.0]]]

== windows with a stride have their lanes along the results, not along the two or three terms of a row
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32' pool.vf | grep '^  lanes'
  lanes   16 of f32, unroll factor 2
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32' channelwise.vf | grep '^  lanes'
  lanes   16 of f32

== windows without masks share rows of four results, and their vectors overlap where these fill none: 27 are two, not four
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' small_pool.vf | grep -o 'split a1 .*'
split a1 4; split a2 16; reorder a0 a1.0 a2.0 a1.1 a2.1; unroll a1.1; vector a2.1; thread a0
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' small_pool.vf | grep -c 'vector {$'
2

== maxima of overlapping windows go over one axis, then over the other, by integers in the order of the floats, of which each is made once
<<< overlapping.vf
graph @overlapping(%x: f32[1,3,7,6]) {
  %y = max_pool %x kernel=[5,5] stride=[1,1] padding=[2,2]
  %z = max_pool %y kernel=[5,3] stride=[1,1] padding=[2,1]
  %v = max_pool %z kernel=[3,3] stride=[2,2]
  return %v
}
>>>
$ viewfold dump --print-after=split overlapping.vf | grep -c ' = max .* axes=\[[0-9]\]'
4
$ viewfold dump --print-after=split overlapping.vf | grep -c ' max .* axes=.* : u32'
5
$ viewfold dump --print-after=split overlapping.vf | grep -c ' sub .*, 8388607 '
1
$ viewfold dump --print-after=split overlapping.vf | sed -n 's/.* = stored .* : //p'
u32[1,3,7,6]
u32[1,1,3,7,6]
u32[1,3,7,6]
u32[1,1,3,7,6]
u32[1,3,7,6]
$ viewfold dump --print-after=split small_pool.vf | grep -c ' = max '
1
$ sed 's/7,6/750,300/' overlapping.vf > far.vf
$ viewfold dump --print-after=split far.vf | sed -n 's/.* = stored .* : //p'
f32[1,1,3,750,300]
f32[1,1,3,750,300]
$ printf '%s\n' 'graph @edges(%x: f32[3,3]) {' '  %y = max_pool %x kernel=[3,3] stride=[1,1] padding=[1,1]' '  return %y' '}' > edges.vf
$ viewfold run edges.vf --in 'x=[[-1,-inf,-inf],[-inf,-inf,-0.0],[-2,-inf,0.0]]'
y: f32[3,3] = [[-1.0, -0.0, -0.0], [-1.0, 0.0, 0.0], [-2.0, 0.0, 0.0]]
$ viewfold run edges.vf --in 'x=[[-inf,-inf,-inf],[-inf,-inf,-0.0],[-inf,-inf,-inf]]'
y: f32[3,3] = [[-inf, -0.0, -0.0], [-inf, -0.0, -0.0], [-inf, -0.0, -0.0]]

== seven results of a window with a stride are the lanes, not its five terms
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' seven.vf | grep -o 'split a2 .*;' | tail -1
split a2 4; reorder a0.0 a0.1 a1.0 a2.0 a1.1 a2.1; unroll a1.1; vector a2.1;

== a product of few terms has a tile along all positions, where panels divide neither rows nor columns of the image
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' few_terms.vf | sed -n 's/.*split a1/split a1/p' | tail -1
split a1 4; split a2 64; split a2 16; reorder a0 a2.0 a1.0 a1.1 a2.1 a2.2; unroll a1.1 a2.1; vector a2.2; thread a0 a2.0

== a product joins no loop over positions in which it would have one row
$ viewfold dump --stage=kernels --target 'vector_bytes=64 registers=32' shortcut.vf | grep -c '^kernel'
3

== constant weights are the lanes where positions fill vectors badly, and positions are copied with their channels together
$ head -c 1638400 /dev/zero > w
$ viewfold dump --graph few --stage=kernels --target 'vector_bytes=64 registers=32' positions.vf | grep '^kernel'
kernel 0 -> temporary 1 of %y f32[1,1,1,49,320,1,1]
kernel 1 -> temporary 0 of %y f32[1,1,40,1,320,1,1,32]
kernel 2 -> temporary 2 of %y f32[1,1,49,1280]
kernel 3 -> %y f32[1,1280,7,7]
$ viewfold dump --graph many --stage=kernels --target 'vector_bytes=64 registers=32' positions.vf | grep '^kernel'
kernel 0 -> temporary 0 [..]
kernel 1 -> %y f32[1,1280,20,20]

== rows go in blocks, all of one height, where the L2 cache holds all panels but not the rows
$ viewfold dump --graph rows --stage=loops --target 'vector_bytes=64 registers=32 l2=2097152' dense.vf | grep -o 'nest 0: .*reorder a0.0 a1.0 a0.1'
nest 0: split a0 32; split a0 4; split a1 64; split a1 16; reorder a0.0 a1.0 a0.1
$ viewfold dump --graph rows --stage=loops --target 'vector_bytes=64 registers=32 l2=2097152' dense.vf | grep -c ' = fma '
1
$ viewfold dump --graph rows --stage=loops --target 'vector_bytes=64 registers=32 l2=8388608' dense.vf | grep -o 'nest 0: .*reorder a1.0 a0.0'
nest 0: split a0 4; split a1 64; split a1 16; reorder a1.0 a0.0

== panels that the L1 cache does not hold are prefetched
$ viewfold dump --graph dense --stage=loops --target 'vector_bytes=64 registers=32' dense.vf | grep -o 'ahead [0-9]* :'
ahead 256 :
$ viewfold dump --graph thin --stage=loops --target 'vector_bytes=64 registers=32' dense.vf | grep -c 'ahead [0-9]* :'
0
? 1

== rows of positions that are whole panels go around the rows of the weights where the L2 cache has no room for all of them
<<< panels.vf
graph @panels(%x: f32[1,512,64,64], %w: f32[32,512,1,1]) {
  %y = conv %x, %w
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 l2=2097152' panels.vf | grep -o 'kernel 1 .*reorder a1 a2.0 a0.0'
kernel 1 nest 0: split a0 4; split a2 64; split a2 16; reorder a1 a2.0 a0.0
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 l2=33554432' panels.vf | grep -o 'kernel 1 .*reorder a2.0 a0.0 a1'
kernel 1 nest 0: split a0 4; split a2 64; split a2 16; reorder a2.0 a0.0 a1

== the lanes of a sum of two elements that are gathered run along the results
<<< taken.vf
graph @taken(%x: f32[64,128], %at: i32[256,2], %w: f32[256,2]) {
  %g = gather %x, %at axis=1
  %p = mul %g, %w
  %y = sum %p axes=[2]
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' taken.vf | grep '^#' | grep -c 'vector a1'
1

== a bias below an average pool does not count as a load of its terms: lanes are those of the results
<<< pooled.vf
graph @pooled(%x: f32[4,40,7,7], %w: f32[40,1,3,3], %b: f32[40]) {
  %z = conv %x, %w, %b padding=1 groups=40
  %y = avg_pool %z kernel=[3,3] stride=[1,2] padding=[1,1]
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' pooled.vf | grep '^# kernel' | tail -1 | grep -o 'vector a[0-9.]*'
vector a2.1

== windows that step backwards are read in small steps, too
<<< backwards.vf
graph @backwards(%x: f32[2,24,7,7], %w: f32[24,1,3,3]) {
  %z = flip %x axes=[3]
  %y = conv %z, %w stride=2 padding=1 groups=24
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' backwards.vf | grep -o 'vector a[0-9.]*' | tail -1
vector a3.1

== a depthwise convolution whose result is transposed is stored in its own order, along which it reads in sequence
<<< depthwise.vf
graph @depthwise(%x: i32[1,64,7,7], %w: i32[64,1,5,5]) {
  %z = conv %x, %w padding=2 groups=64
  %y = permute %z order=[0,1,3,2]
  return %y
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32' depthwise.vf | grep '^kernel'
kernel 0 -> temporary 0 of %z i32[1,64,11,11]
kernel 1 -> temporary 1 of %y i32[1,64,1,7,7]
kernel 2 -> %y i32[1,64,7,7]

== rows of seven are one vector of eight lanes, of which the last stores nothing, and windows of 7 x 7 are written out
<<< rows.vf
graph @rows(%x: f32[1,8,7,7], %w: f32[8,1,7,7]) {
  %y = conv %x, %w padding=3 groups=8
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'triple=x86_64-unknown-linux-gnu features=+avx512f,+avx512vl vector_bytes=64 registers=32' rows.vf |
> grep -o -e 'in 0..8 vector' -e 'update' -e 'if (ridx[0-9]*<7)$' -e 'load p1.*+48)' | sed 's/ridx[0-9]*//' | sort -u
if (<7)
in 0..8 vector
load p1[[..]+48)
update

== rows of windows that lie too far apart for lanes along these are one vector each, under a mask; all rows are written out
<<< apart.vf
graph @apart(%x: f32[2,21,35]) {
  %y = max_pool %x kernel=[3,7] stride=[3,7]
  return %y
}
>>>
$ for b in 64 16; do viewfold dump --stage=loops --target "triple=x86_64-unknown-linux-gnu features=+avx512f,+avx512vl,+avx512bw vector_bytes=$b registers=32 masks=1" apart.vf | grep -oE 'in 0.*vector|load p1.*' | sed 's/p1[^ ]*//'; echo; done
in 0..8 vector
load  if (ridx10<7) : f32
load  if (ridx10<7) : f32
load  if (ridx10<7) : f32
\
in 0..4 vector
load  : f32
load  : f32
load  : f32
load  if (ridx10<3) : f32
load  if (ridx10<3) : f32
load  if (ridx10<3) : f32
\
$ viewfold check apart.vf
check y: 70 elements, bit-equal

== a pad with elements of the image is copied before its windows are read, as one with zeros is
<<< edges.vf
graph @edges(%x: f32[1,64,14,14], %w: f32[64,64,3,3], %v: f32[64,1,5,5]) {
  %p = pad %x pads=[[0,0],[0,0],[1,1],[1,1]] mode=reflect
  %q = pad %x pads=[[0,0],[0,0],[2,2],[2,2]] mode=wrap
  %y = conv %p, %w
  %z = conv %q, %v groups=64
  return %y, %z
}
>>>
$ viewfold explain --no-run --kernel all --target 'vector_bytes=64 registers=32' edges.vf | grep -c '^  fuses   pad stored'
2
$ viewfold check edges.vf
check y: [..]
check z: [..]

== bytes less their zero point are computed once, and not for each window of each channel
<<< bytes.vf
graph @bytes(%x: u8[1,32,28,28], %w: i8[32,1,3,3]) {
  %p = pad %x pads=[[0,0],[0,0],[1,1],[1,1]] value=120
  %c = cast %p dtype=i32
  %z = sub %c, 120
  %v = cast %w dtype=i32
  %y = conv %z, %v groups=32
  return %y
}
>>>
$ viewfold explain --no-run --kernel all --target 'vector_bytes=64 registers=32' bytes.vf | grep '^  fuses' | grep -c 'pad cast sub stored'
1
$ viewfold check bytes.vf
check y: 25088 elements, bit-equal

== windows that lie one behind the other are cut by a reshape, and their lines combined before their runs
<<< apart.vf
graph @apart(%x: f32[3,44,91]) {
  %y = max_pool %x kernel=[7,10] stride=[7,10]
  return %y
}
>>>
$ viewfold dump --print-after=split apart.vf | grep -Eo '(reshape|stored|max) .*'
reshape %0 shape=[3,6,7,9,10] : f32[3,6,7,9,10]
max %1 axes=[2] : f32[3,6,9,10]
stored %2 : f32[3,6,9,10]
max %3 axes=[3] : f32[3,6,9]
<<< shared.vf
graph @group(%x: f32[2,12,56,56], %w: f32[4,3,3,3]) {
  %y = conv %x, %w padding=1 groups=4
  return %y
}
>>>
$ viewfold dump --print-after=split --graph group shared.vf | grep -Eo '(stored|sum) .*'
sum %20 axes=[3,6,7] : f32[2,4,1,56,56]

== lines are read in a loop, one after the other
<<< lines.vf
graph @lines(%x: f32[20,7,640]) {
  %y = sum %x axes=[1]
  return %y
}
graph @few(%x: f32[20,7,32]) {
  %y = sum %x axes=[1]
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' --graph lines lines.vf | grep -c 'in 0..7 with'
2
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' --graph few lines.vf | grep 'in 0..7 with' | wc -l
0

== every other element under a mask is picked from whole vectors, where the processor has masked loads
<<< odd.vf
graph @odd(%x: f32[4,33,113], %w: f32[4,1,3,3]) {
  %b = unsqueeze %x axis=0
  %y = conv %b, %w stride=2 padding=1 groups=4
  return %y
}
>>>
$ viewfold dump --stage=llvm --target x86-64-v4 odd.vf | grep masked.gather | wc -l
0
$ viewfold dump --stage=llvm --target x86-64-v4 odd.vf | grep -c 'call.*masked.load'
36
$ viewfold check odd.vf
check y: [..], allowed [..]

== lanes of windows that are as wide as vectors run along the results where these fill them: nothing is combined across lanes
<<< wide.vf
graph @wide(%x: f32[144,80], %w: f32[144,9]) {
  %a = unsqueeze %x axis=0
  %v = unsqueeze %w axis=1
  %c = conv %a, %v groups=144
  return %c
}
graph @short(%x: f32[144,12], %w: f32[144,9]) {
  %a = unsqueeze %x axis=0
  %v = unsqueeze %w axis=1
  %c = conv %a, %v groups=144
  return %c
}
>>>
$ for g in wide short; do viewfold dump --graph $g --stage=loops --target 'vector_bytes=64 registers=32' wide.vf | grep -c 'vector with'; done
0
2
