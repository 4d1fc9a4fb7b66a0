# Reductions and cumulative operations through views that transpose or reverse rows.

<<< transposed.vf
graph @sums(%x: f32[64,48,64]) {
  %p = permute %x order=[0,2,1]
  %y = sum %p axes=[0]
  return %y
}
graph @all(%x: f32[48,80]) {
  %p = permute %x order=[1,0]
  %y = sum %p axes=[0,1]
  return %y
}
graph @short(%x: f32[512,512]) {
  %p = permute %x order=[1,0]
  %y = softmax %p axis=-1
  return %y
}
graph @long(%x: f32[2048,512]) {
  %p = permute %x order=[1,0]
  %y = softmax %p axis=-1
  return %y
}
graph @before(%x: f32[640,640]) {
  %p = permute %x order=[1,0]
  %y = cumsum %p axis=1
  return %y
}
graph @behind(%x: f32[320,320]) {
  %p = cumsum %x axis=1
  %d = mul %p, 2.0
  %y = permute %d order=[1,0]
  return %y
}
graph @reverse(%x: f32[4,1000]) {
  %y = cumsum %x axis=1 reverse=true
  return %y
}
>>>

== vector lanes are contiguous along the loaded operand, though the results are strided along them
$ viewfold dump --stage=loops --graph sums --target 'vector_bytes=64 registers=32' transposed.vf | grep -o -e 'split.*' -e 'load.*' -e 'store.*'
split a0 64; split a0 16; reorder a0.0 a1 a0.1 a0.2; unroll a0.1; vector a0.2; thread a0.0 a1
load p1[(%0+%2+ridx9+%5+(ridx11*3072))] : f32
store p0[(ridx5+%1+(ridx9*48))] = %3

== a sum over several axes is done in the order of memory, as one contiguous loop
$ viewfold dump --stage=loops --graph all --target 'vector_bytes=64 registers=32' transposed.vf | grep load
          %10 = load p1[(ridx2+%4+%7+(ridx5*64))] : f32

== short columns are read transposed, as the cache holds enough of them; longer ones are copied first
$ viewfold dump --stage=kernels --graph short transposed.vf | grep stored
? 1
$ viewfold dump --stage=kernels --graph long transposed.vf | grep stored
  fuses   permute stored

== a transpose after a cumulative operation is a copy; one before it is not
$ viewfold dump --print-after=lower --graph before transposed.vf | grep -A1 permute | grep stored
? 1
$ viewfold dump --print-after=lower --graph behind transposed.vf | grep -B1 permute | grep -c stored
1

== cache lines that were loaded are used up before the next elements of a block
$ viewfold dump --stage=loops --graph before --target 'vector_bytes=64 registers=32' transposed.vf | grep -o 'nest 4: .*'
nest 4: split a2 16; reorder a1 a2.0 a0 a2.1; vector a2.1

== terms a few elements apart have the lanes, where those of neighbouring results lie in other lines
<<< near.vf
graph @g(%x: f16[48,4096,2]) {
  %p = permute %x order=[2,0,1]
  %r = mean %p axes=[2]
  return %r
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' near.vf | grep -o -e 'vector with' -e 'thread'
thread
thread
thread
vector with

== reversed blocks: vectors begin where blocks do
$ viewfold dump --stage=loops --graph reverse --target 'vector_bytes=64 registers=32' transposed.vf | grep '//'
? 1

== every element of rows that are copied
<<< checked.vf
graph @long() {
  %i = iota shape=[1100,40] axis=0 dtype=i32
  %k = iota shape=[1100,40] axis=1 dtype=i32
  %a = mul %i, 37
  %b = mul %k, 11
  %s = add %a, %b
  %r = mod %s, 19
  %x = cast %r dtype=f32
  %p = permute %x order=[1,0]
  %m = max %p axes=[1] keepdims=true
  %d = sub %p, %m
  %c = cumsum %d axis=1
  %t = permute %c order=[1,0]
  %e = cumsum %t axis=0 reverse=true
  %q = permute %e order=[1,0]
  %y = sum %q axes=[1]
  return %c, %e, %y
}
>>>
$ viewfold run --check checked.vf | grep check
check c: 44000 elements, bit-equal
check e: 44000 elements, bit-equal
check y:[..]
$ viewfold dump --print-after=lower checked.vf | grep -c 'stored.*f32.1100,40.\|stored.*f32.40,1100.'
4

== the last block has fewer steps in the same loops, where bodies are long
<<< blocks.vf
graph @blocks() {
  %i = iota shape=[46080] dtype=i32
  %a = reshape %i shape=[960,48]
  %b = stored %a
  %t = permute %b order=[1,0]
  %c = stored %t
  return %c
}
graph @three() {
  %i = iota shape=[1020096] dtype=i32
  %a = reshape %i shape=[1056,966]
  %b = stored %a
  %t = permute %b order=[1,0]
  %c = stored %t
  return %c
}
>>>
$ viewfold dump --stage=loops --target vector_bytes=64 'f32[960,48].permute(1,0)' | grep -E 'min|unroll$|unroll {'
    for ridx7 in 0..min(((ridx6*-2)+15), 2) {
          for ridx12 in 0..16 unroll {
$ viewfold run --check --graph blocks blocks.vf | grep check
check c: 46080 elements, bit-equal
$ viewfold run --check --graph three blocks.vf | grep check
check c: 1020096 elements, bit-equal
$ viewfold run --check --graph three --threads 1 --target vector_bytes=32 blocks.vf | grep check
check c: 1020096 elements, bit-equal

== a copy that runs once, of constants alone, gathers: its code is made in less time
<<< weights.vf
graph @weights() {
  %i = iota shape=[18432] dtype=f32
  %w = reshape %i shape=[96,192]
  return %w
}
>>>
<<< once.vf
graph @once(%x: f32[96,192]) {
  %w = data file="w.npy" : f32[96,192]
  %t = permute %w order=[1,0]
  %c = stored %t
  %r = reshape %c shape=[96,192]
  %y = add %x, %r
  return %y
}
graph @each(%x: f32[96,192], %w: f32[96,192]) {
  %t = permute %w order=[1,0]
  %c = stored %t
  %r = reshape %c shape=[96,192]
  %y = add %x, %r
  return %y
}
>>>
$ viewfold run weights.vf --out w=w.npy > out
$ viewfold dump --stage=loops --graph once --target 'vector_bytes=64 hoist=1' once.vf | grep -c 'unroll {'
0
? 1
$ viewfold dump --stage=loops --graph each --target 'vector_bytes=64 hoist=1' once.vf | grep -c 'unroll {'
1
$ viewfold run --check --graph once --in x=w.npy once.vf | grep check
check y: 18432 elements, bit-equal

== reductions of a transposed view go over memory as it lies; what they leave is transposed. Not where something else reads elements, nor products
<<< behind.vf
graph @sum(%x: f32[30,17,54]) {
  %v = permute %x order=[2,0,1]
  %y = sum %v axes=[2]
  return %y
}
graph @variance(%x: f32[12,9,13]) {
  %v = permute %x order=[0,2,1]
  %y = var %v axes=[0]
  return %y
}
graph @largest(%x: f32[7,12,9,13]) {
  %v = permute %x order=[3,0,2,1]
  %m = mean %v axes=[2,3] keepdims=true
  %d = sub %v, %m
  %a = abs %d
  %y = max %a axes=[0,2]
  return %y
}
graph @read(%x: f32[40,30]) {
  %v = permute %x order=[1,0]
  %m = max %v axes=[1] keepdims=true
  %y = sub %v, %m
  return %y
}
graph @product(%x: i32[20,30], %y: i32[20,40]) {
  %v = permute %x order=[1,0]
  %z = matmul %v, %y
  return %z
}
graph @weighted(%x: f32[300,171,54], %z: f32[54,300,171]) {
  %v = permute %x order=[2,0,1]
  %m = mean %v axes=[2] keepdims=true
  %d = sub %v, %m
  %e = mul %d, %z
  %y = sum %e axes=[2]
  return %y
}
graph @far(%x: f32[300,171,54], %z: f32[54,300,171]) {
  %v = permute %x order=[2,0,1]
  %m = mean %v axes=[2] keepdims=true
  %d = sub %v, %m
  %e = sub %d, %z
  %a = abs %e
  %y = sum %a axes=[2]
  return %y
}
>>>
<<< reductions.sh
# reductions.sh GRAPH: permutations, and the reductions, after the step
viewfold dump --graph "$1" --print-after=reductions behind.vf | grep -Eo '(permute|sum|max) .*'
>>>
$ sh reductions.sh sum
sum %x axes=[1] : f32[30,54]
permute %0 order=[1,0] : f32[54,30]
$ sh reductions.sh variance | grep 'permute %x' | wc -l
0
$ sh reductions.sh largest | grep 'permute %x' | wc -l
0
$ sh reductions.sh read
permute %x order=[1,0] : f32[30,40]
max %1 axes=[1] : f32[30]
$ sh reductions.sh product | head -1
permute %x order=[1,0] : i32[30,20]
$ for g in weighted far variance; do viewfold dump --graph $g --print-after=reductions behind.vf | grep stored | wc -l; done
1
1
0
<<< make.vf
graph @sum() {
  %i = iota shape=[27540] axis=0 dtype=f32
  %s = sin %i
  %x = reshape %s shape=[30,17,54]
  return %x
}
graph @variance() {
  %i = iota shape=[1404] axis=0 dtype=f32
  %s = sin %i
  %x = reshape %s shape=[12,9,13]
  return %x
}
graph @largest() {
  %i = iota shape=[9828] axis=0 dtype=f32
  %s = sin %i
  %x = reshape %s shape=[7,12,9,13]
  return %x
}
graph @read() {
  %i = iota shape=[1200] axis=0 dtype=f32
  %s = sin %i
  %x = reshape %s shape=[40,30]
  return %x
}
>>>
$ for g in sum variance largest read; do viewfold run make.vf --graph $g --out x=$g.npy > made; viewfold run --check --graph $g behind.vf --in x=$g.npy > made && echo $g; done
sum
variance
largest
read

== pieces of a large array that follow one another are summed in the order of memory; small arrays, and sums so many that an L2 cache does not hold their lines, in that of the results
<<< apart.vf
graph @large(%x: f32[1808,88,74]) {
  %p = permute %x order=[1,2,0]
  %y = sum %p axes=[1]
  return %y
}
graph @small(%x: f32[108,88,74]) {
  %p = permute %x order=[1,2,0]
  %y = sum %p axes=[1]
  return %y
}
graph @many(%x: f32[18,8800,74]) {
  %p = permute %x order=[1,2,0]
  %y = sum %p axes=[1]
  return %y
}
>>>
$ for g in large small many; do viewfold dump --stage=loops --graph $g --target 'vector_bytes=64 registers=32 l2=1048576' apart.vf | grep -Eo '(reorder|thread) a.*'; done
reorder a1 a0; thread a1
thread a0.0
reorder a0.0 a0.1 a1.0 a0.2 a1.1; unroll a0.2; vector a1.1; thread a0.0
thread a0.0

== a softmax whose result is permuted back goes over memory as it lies, and has scores of attention in blocks of keys
<<< back.vf
graph @rows(%x: f32[2000,1500]) {
  %p = permute %x order=[1,0]
  %n = softmax %p axis=-1
  %y = permute %n order=[1,0]
  return %y
}
graph @attention(%q: f32[2,512,12], %k: f32[2,20000,12], %v: f32[2,20000,65]) {
  %t = permute %k order=[0,2,1]
  %s = matmul %q, %t
  %p = permute %s order=[0,2,1]
  %n = softmax %p axis=1
  %w = permute %n order=[0,2,1]
  %y = matmul %w, %v
  return %y
}
graph @apart(%x: f32[2000,1500]) {
  %p = permute %x order=[1,0]
  %n = softmax %p axis=-1
  %y = permute %n order=[1,0]
  return %y, %n
}
>>>
$ for g in rows attention apart; do viewfold dump --stage=kernels --graph $g back.vf | grep '^kernel'; done
kernel 0 -> temporary 0 f32[8,1500]
kernel 1 -> %y f32[2000,1500]
kernel 0 -> temporary 0 of %s f32[2,1,313,12,64]
kernel 1 -> temporary 1 of %y f32[2,1,3,20000,32]
kernel 2 -> %y f32[2,512,65]
kernel 0 -> %p f32[1500,2000]
kernel 1 -> %n f32[1500,2000]
kernel 2 -> %y f32[2000,1500]
