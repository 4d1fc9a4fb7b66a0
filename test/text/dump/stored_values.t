# Which values are stored because computing them where they are read costs more, and that products keep their tiles.
<<< fuses.sh
# fuses.sh GRAPH: what each kernel of a graph of values.vf computes
viewfold explain --no-run --threads 1 --target 'vector_bytes=64 registers=32' --graph "$1" values.vf | sed -nE 's/^  fuses   //p'
>>>
<<< values.vf
graph @norm(%x: f32[1,1,768], %w: f32[768,3072], %g: f32[768], %b: f32[768]) {
  %n = layer_norm %x, %g, %b axis=-1
  %y = matmul %n, %w
  return %y
}
graph @chain(%x: f32[64,96], %u: f32[96,96], %v: f32[96,96]) {
  %0 = matmul %x, %u
  %1 = add %x, %0
  %2 = relu %1
  %3 = matmul %2, %v
  %4 = add %1, %3
  %5 = relu %4
  %6 = matmul %5, %u
  %7 = add %4, %6
  %8 = relu %7
  %y = matmul %8, %v
  return %y
}
graph @reordered(%x: f32[128,96], %w: f32[96,384], %b: f32[384]) {
  %m = matmul %x, %w
  %a = add %m, %b
  %h = reshape %a shape=[128,12,32]
  %k = permute %h order=[1,2,0]
  %y = mul %k, 0.5
  return %y
}
graph @pointwise(%x: f32[1,960,7,7], %w: f32[320,960,1,1], %b: f32[320]) {
  %y = conv %x, %w, %b
  return %y
}
graph @image(%x: f32[1,256,56,56], %w: f32[64,256,1,1]) {
  %y = conv %x, %w
  return %y
}
graph @windows(%x: f32[2,32,28,28], %v: f32[8,32,1,1], %w: f32[8,8,3,3], %b: f32[8]) {
  %c = conv %x, %v
  %y = conv %c, %w, %b padding=1
  return %y
}
graph @gate(%x: f32[6,96], %w: f32[192,96], %u: f32[96,192]) {
  %t = permute %w order=[1,0]
  %a = matmul %x, %t
  %b = matmul %x, %u
  %y = mul %a, %b
  return %y
}
graph @repeated(%x: f32[1,384], %w: f32[384,1536]) {
  %e = expand %x shape=[128,384]
  %y = matmul %e, %w
  return %y
}
graph @cheap(%x: f32[1,144,56,56], %w: f32[24,144,1,1]) {
  %c = min %x, 6.0
  %y = conv %c, %w
  return %y
}
graph @gated(%x: f32[64,256], %w: f32[256,64], %v: f32[256,64]) {
  %p = matmul %x, %w
  %s = sigmoid %p
  %g = mul %p, %s
  %q = matmul %x, %v
  %y = mul %g, %q
  return %y
}
graph @silu(%x: f32[64,256], %w: f32[256,64]) {
  %p = matmul %x, %w
  %s = sigmoid %p
  %y = mul %p, %s
  return %y
}
graph @silu_gate(%x: f32[64,256], %w: f32[256,64], %v: f32[256,64]) {
  %p = matmul %x, %w
  %s = sigmoid %p
  %g = mul %p, %s
  %q = matmul %x, %v
  %y = mul %g, %q
  return %y
}
graph @softmax(%x: f32[64,256], %w: f32[256,64]) {
  %p = softmax %x axis=1
  %y = matmul %p, %w
  return %y
}
graph @causal(%q: f32[2,256,32], %k: f32[2,256,32], %v: f32[2,256,32]) {
  %y = attention %q, %k, %v causal=true
  return %y
}
graph @bytes(%x: i8[64,256], %w: i8[256,64]) {
  %a = cast %x dtype=i32
  %b = cast %w dtype=i32
  %y = matmul %a, %b
  return %y
}
>>>
<<< one_row.vf
graph @one_row(%x: f32[1,768], %near: f32[1,256]) {
  %w = data file="rows" offset=0 name="w" shape=[768,3072] dtype=f32
  %y = matmul %x, %w
  %v = shrink %w bounds=[[0,256],[0,1024]]
  %z = matmul %near, %v
  return %y, %z
}
>>>

== a norm before a product of one row is computed once, not for each column
$ sh fuses.sh norm | tail -2
reshape x3 div expand sub expand mul x2 add stored
reshape permute reshape x2 expand fma sum

== activations in a residual chain are stored, so that each product reads memory
$ sh fuses.sh chain | grep 'relu.*fma' | wc -l
0
$ sh fuses.sh chain | grep -c 'fma sum'
4

== what is made twice of one product are not two products, of which one would be stored
$ viewfold dump --graph silu --print-after=values values.vf | grep -c stored
0
? 1
$ viewfold dump --graph silu_gate --print-after=values values.vf | grep -c stored
1

== a product is computed in the order in which its result is read
$ sh fuses.sh reordered
reshape expand reshape permute shrink reshape permute stored
reshape expand permute reshape expand reshape permute reshape permute x2 reshape expand fma sum add mul
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32' --graph reordered values.vf | grep -c 'unroll, ridx[0-9]* of [2-4] unroll, ridx[0-9]* of 16 vector, ridx[0-9]* of 96$'
1

== a sum of products is not split for the sake of lanes, however few results are contiguous
$ sh fuses.sh pointwise | grep -c 'fma sum'
1
$ sh fuses.sh pointwise | grep 'sum x2' | wc -l
0

== height and width of a 1 x 1 convolution are one axis, of which tiles fill their vectors
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32' --graph image values.vf | grep -c 'unroll, ridx[0-9]* of [2-4] unroll, ridx[0-9]* of 16 vector, ridx[0-9]* of 256'
1

== positions of a 1 x 1 convolution with a stride are copied beside one another, and are one axis too
<<< apart.vf
graph @apart(%x: f32[1,128,28,28], %w: f32[256,128,1,1]) {
  %y = conv %x, %w stride=2
  return %y
}
graph @few(%x: f32[1,128,28,28], %w: f32[64,128,1,1]) {
  %y = conv %x, %w stride=2
  return %y
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32' --graph apart apart.vf | grep '^kernel'
kernel 0 -> temporary 0 of %y f32[128,1,1,1,1,1,14,14]
kernel 1 -> temporary 1 of %y f32[1,1,1,7,128,1,1,32]
kernel 2 -> %y f32[1,256,14,14]
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32' --graph few apart.vf | grep -c '^kernel.*14,14\]$'
1

== the lanes of a convolution follow the order of the padded copy, not of the transposed image below it
<<< turned.vf
graph @turned(%x: f32[1,64,14,14], %w: f32[2,64,3,3]) {
  %p = permute %x order=[0,1,3,2]
  %y = conv %p, %w padding=1
  return %y
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32' turned.vf | grep '^kernel'
kernel 0 -> temporary 0 of %y f32[1,64,16,16]
kernel 1 -> %y f32[1,2,14,14]

== where windows of a stored value grow too large for one kernel, the padded value is stored, not the windows
$ viewfold explain --no-run --graph windows values.vf | grep '^kernel'
kernel 0 -> temporary 0 of %c f32[2,1,8,784]
kernel 1 -> temporary 1 of %y f32[[..],30,30]
kernel 2 -> %y f32[2,8,28,28]

== of two products that one operation combines, one is stored
$ sh fuses.sh gate | grep -c 'fma sum'
2

== a product of equal rows is computed for one of them
$ viewfold explain --no-run --graph repeated values.vf | grep '^kernel' | tail -2
kernel 0 -> temporary 0 of %y f32[1,1536]
kernel 1 -> %y f32[128,1536]

== a cheap operation before a product of few rows is copied in its own order
$ sh fuses.sh cheap | head -1
min stored

== left where they are read: weights of softmax, causal masks, narrow integers
$ for g in softmax causal bytes; do sh fuses.sh $g | grep -c stored; done
1
2
3
$ sh fuses.sh bytes | grep -c 'dot[24]'
1

== an elementary function in a join is computed once, not for each operand, before a sum of products
<<< joined.vf
graph @joined(%w: f32[8,1], %a: f32[2,4096,4,8], %b: f32[2,4096,4,8], %c: f32[2,4096,4,8], %d: f32[2,4096,4,8]) {
  %s = sigmoid %a
  %z = concat %s, %b, %c, %d axis=2
  %y = matmul %z, %w
  return %y
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32' joined.vf | grep fuses
  fuses   sigmoid
  fuses   concat reshape expand reshape permute reshape expand fma sum

== a function that costs more than to store it is computed once for two kernels
<<< shared.vf
graph @shared(%a: f32[1,100,28,28], %b: f32[1,100,28,28], %c: f32[1,100,28,28], %d: f32[1,100,28,28], %e: f32[1,100,28,112]) {
  %j = concat %a, %b, %c, %d axis=3
  %s = gelu %j
  %y = sin %s
  %z = concat %e, %s axis=1
  return %y, %z
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32' shared.vf | grep fuses
  fuses   concat gelu_erf
  fuses   sin
  fuses   concat

== elementary functions beside rows that fill no vector are stored in whole vectors
<<< beside.vf
graph @beside(%s: bool[5], %a: f32[144,5], %b: f32[144,5], %c: f32[144,1]) {
  %t = exp %a
  %u = exp %t
  %v = mul %b, %c
  %w = where %s, %u, %b
  %y = add %v, %w
  return %y
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32' beside.vf | grep -E '^  (fuses|lanes)'
  fuses   reshape expand stored
  lanes   4 of bool
  fuses   expand mul
  lanes   4 of f32
  fuses   exp x2 where add
  lanes   16 of f32, unroll factor 4

== two sums of products without tiles are two kernels where one reads rows in sequence and the other one columns, or both read columns of matrices that stay in no L2 cache
<<< vectors.vf
graph @vectors(%a: f32[1,400], %v: f32[100,400], %b: f32[1,2048], %w: f32[2048,100]) {
  %t = permute %v order=[1,0]
  %x = matmul %a, %t
  %y = matmul %b, %w
  %z = add %x, %y
  return %z
}
graph @alike(%a: f32[1,400], %v: f32[100,400], %b: f32[1,2048], %w: f32[100,2048]) {
  %t = permute %v order=[1,0]
  %u = permute %w order=[1,0]
  %x = matmul %a, %t
  %y = matmul %b, %u
  %z = add %x, %y
  return %z
}
graph @far(%a: f32[1,1000], %v: f32[1000,3000], %w: f32[1000,3000]) {
  %x = matmul %a, %v
  %y = matmul %a, %w
  %z = add %x, %y
  return %z
}
graph @near(%a: f32[1,300], %v: f32[300,1000], %w: f32[300,1000]) {
  %x = matmul %a, %v
  %y = matmul %a, %w
  %z = add %x, %y
  return %z
}
graph @narrow(%a: bf16[1,1000], %v: bf16[1000,3000], %w: bf16[1000,3000]) {
  %x = matmul %a, %v
  %y = matmul %a, %w
  %z = add %x, %y
  return %z
}
>>>
$ for g in vectors alike far near narrow; do viewfold explain --no-run --target 'vector_bytes=64 registers=32' --graph $g vectors.vf | grep -c '^kernel'; done
2
1
2
1
1

== a product whose columns a view takes apart is stored in its own order
<<< apart.vf
graph @apart(%a: i32[8,30,35], %b: i32[35,12]) {
  %c = matmul %a, %b
  %d = reshape %c shape=[8,30,6,2]
  %y = permute %d order=[2,0,1,3]
  return %y
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32' apart.vf | grep '^kernel'
kernel 0 -> temporary 0 of %y i32[8,30,12]
kernel 1 -> %y i32[6,8,30,2]

== a cumulative operation along rows of a transposed view reads a copy, in either direction
<<< across.vf
graph @across(%x: i64[16,39,36]) {
  %t = permute %x order=[0,2,1]
  %y = cummin %t axis=1 reverse=true
  return %y
}
>>>
$ viewfold explain --no-run --target 'vector_bytes=64 registers=32' across.vf | grep -m1 '^kernel'
kernel 0 -> %t i64[16,36,39]

== constant weights of one row are copied, once, in the order in which they are read, where they come from memory
$ truncate -s 9437184 rows
$ viewfold dump --stage=kernels one_row.vf | grep -E '^kernel|once|resource'
graph @one_row: 3 kernels, 1 temporary; 1 of the kernels run once, when the program is made
kernel 0 -> %z f32[1,1024]
  reads   resource 0 f32[768,3072], in 1 place
kernel 1 -> temporary 0 of %y f32[1,48,768,64]
  once    when the program is made: it reads constants alone, and its result is kept
  reads   resource 0 f32[768,3072], in 1 place
kernel 2 -> %y f32[1,3072]

== what is stored so that each kernel has one product is stored in whatever order its users are written
<<< head
graph @g(%a: f32[64,256], %b: f32[256,64], %c: f32[64,256], %d: f32[256,64], %e: f32[64,64]) {
  %p = matmul %a, %b
  %q = matmul %c, %d
  %m = mul %p, %e
>>>
$ printf '  %%s = sum %%m axes=[1]\n' > sum; printf '  %%y = add %%m, %%q\n' > add; printf '  return %%s, %%y\n}\n' > end
$ for order in 'sum add' 'add sum'; do cat head $order end | viewfold dump --stage=kernels --target 'vector_bytes=64 registers=32' - | grep -Ec 'fuses .* mul( stored)?$'; done
1
1

== what is computed of a product in memory is not stored before functions of it: scores of a softmax, a product that is gathered
<<< scores.vf
graph @scores(%q: f64[512,1], %k: f64[1,512], %v: f64[512,8]) {
  %s = matmul %q, %k
  %w = softmax %s axis=1
  %y = matmul %w, %v
  return %s, %y
}
graph @gathered(%x: f32[4096,7], %w: f32[7,96], %at: i32[64]) {
  %p = matmul %x, %w
  %m = min %p, 1.0
  %y = sigmoid %m
  %z = gather %p, %at axis=0 mode=clip
  return %y, %z
}
>>>
$ for g in scores gathered; do viewfold dump --stage=kernels --graph $g --target 'vector_bytes=64 registers=32' scores.vf | grep -E ' (exp|sigmoid)( |$)'; done
  fuses   max reshape expand sub exp stored sum reshape expand div stored
          %y = sigmoid %m (line 10)
  fuses   min sigmoid

== of a product of which a view reads a part, that part is computed, whatever reads it
<<< part.vf
graph @last(%h: f32[64,32], %w: f32[32,400]) {
  %x = matmul %h, %w
  %b = relu %x
  %l = shrink %b bounds=[[60,64],[0,400]]
  %y = softmax %l axis=1
  return %y
}
graph @twice(%h: f32[64,32], %w: f32[32,400]) {
  %x = matmul %h, %w
  %s = stride %x steps=[3,1]
  %l = shrink %s bounds=[[0,8],[0,400]]
  %t = permute %l order=[1,0]
  %m = max %l axes=[0]
  return %t, %m
}
>>>
$ for g in last twice; do viewfold dump --stage=kernels --graph $g --target 'vector_bytes=64 registers=32' part.vf | grep -B5 'fuses .* fma sum' | grep ^kernel; done
kernel 0 -> %l f32[4,400]
kernel 0 -> %l f32[8,400]
