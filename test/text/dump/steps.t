# Each row of the pipeline: --print-after shows what it leaves, and `viewfold pass` makes the same of the text of the
# row before it.
<<< steps.sh
# steps.sh TARGET FILE FIRST STEP...: each step on what is there before it; prints those that change something
target=$1 file=$2 before=$3
shift 3
viewfold dump --print-after=$before --target "$target" "$file" | grep -v '^#' > $before
for step do
  viewfold dump --print-after=$step --target "$target" "$file" | grep -v '^#' > $step
  viewfold pass --target "$target" $step $before | cmp - $step || exit 1
  cmp -s $before $step || echo $step
  before=$step
done
>>>
<<< kernel.sh
sh steps.sh "$1" "$2" views fold index elementary canonical crop refine domains rows peel stream prefetch separate stage share loops
>>>
<<< moved.vf
graph @moved(%x: f32[40,56]) {
  %p = pad %x pads=[[0,0],[1,0]]
  %s = shrink %p bounds=[[0,40],[0,56]]
  %y = tanh %s
  return %y
}
>>>
<<< softmax.vf
graph @rows(%x: f32[64,1024]) {
  %y = softmax %x axis=-1
  return %y
}
>>>
<<< causal.vf
graph @causal(%q: f32[2,256,32], %k: f32[2,256,32], %v: f32[2,256,32]) {
  %y = attention %q, %k, %v causal=true
  return %y
}
>>>
<<< sums.vf
graph @sums(%x: f32[4096,64]) {
  %y = sum %x axes=[1]
  return %y
}
>>>
<<< masked.vf
graph @masked(%a: f32[256,256], %b: f32[256,256], %c: f32[256,256]) {
  %e = add %b, %c
  %d = tril %e
  %t = permute %d order=[1,0]
  %y = matmul %a, %t
  %s = sum %d axes=[1]
  return %y, %s
}
>>>
<<< reordered.vf
graph @reordered(%a: f32[256,128], %b: f32[128,512], %c: f32[512]) {
  %m = matmul %a, %b
  %n = add %m, %c
  %t = permute %n order=[1,0]
  %y = mul %t, 0.5
  return %y
}
>>>
<<< product.vf
graph @product(%a: f32[256,128], %b: f32[256,128], %c: f32[256,128]) {
  %d = add %b, %c
  %t = permute %d order=[1,0]
  %y = matmul %a, %t
  %s = sum %d axes=[1]
  return %y, %s
}
>>>

== steps over the graph
$ sh steps.sh 'vector_bytes=64 registers=32' product.vf physicalize scans lower order values split copies pack parts
lower
values
copies
$ sh steps.sh 'vector_bytes=64 registers=32' masked.vf physicalize scans lower order values split copies pack parts
lower
copies
pack
$ sh steps.sh 'vector_bytes=64 registers=32' reordered.vf physicalize scans lower order values split copies pack parts
lower
order
copies

== steps over kernels, for processors
$ sh kernel.sh 'vector_bytes=32 registers=16 masks=1 l3=1048576' moved.vf
elementary
crop
rows
loops
$ sh kernel.sh 'vector_bytes=32 registers=16 masks=0' 'f32[96,64].pad((1,0),(0,0)).shrink((0,96),(0,64)).permute(1,0).reshape(96,64).pad((4,0),(0,0))'
index
canonical
crop
refine
domains
loops
$ sh kernel.sh 'vector_bytes=32 registers=16 l3=65536' 'f32[65536].flip(0)'
index
canonical
crop
refine
stream
loops
$ sh kernel.sh 'vector_bytes=64 registers=32 masks=0 l1=32768 l3=33554432' softmax.vf
elementary
refine
prefetch
loops
$ sh kernel.sh 'vector_bytes=64 registers=32 masks=0 l3=33554432' causal.vf
fold
elementary
crop
refine
loops

== steps over kernels, for work-items
$ sh kernel.sh 'lanes=32 local=65536' 'f32[62,128].pad((1,1),(0,0))'
crop
separate
loops
$ sh kernel.sh 'lanes=32 local=65536' 'f32[64,96].permute(1,0)'
crop
refine
stage
loops
$ sh kernel.sh 'lanes=32 local=65536 masks=0' sums.vf
refine
share
loops

== a step is skipped where it is for other devices
$ viewfold dump --print-after=share --target 'lanes=32 local=65536' 'f32[64,96].permute(1,0)' | grep -v '^#' > here
$ viewfold pass --target 'lanes=32 local=65536' stream here | cmp - here
$ viewfold dump --print-after=stream --target 'lanes=0' 'f32[64,96].permute(1,0)' | grep -v '^#' > here
$ viewfold pass --target 'lanes=0' stage here | cmp - here
$ viewfold pass --target 'lanes=32 local=65536' stage here | grep -c local
1

== steps of the plan take the graph
$ sh steps.sh 'vector_bytes=64 registers=32' product.vf parts schedule regroup
$ viewfold dump --print-after=regroup --target 'vector_bytes=64 registers=32' product.vf | grep -v '^#' > graph
$ viewfold dump --print-after=views --target 'vector_bytes=64 registers=32' product.vf | grep -v '^#' > kernels
$ viewfold pass --target 'vector_bytes=64 registers=32' views graph | cmp - kernels
$ grep -c '^index' kernels
3
$ viewfold pass views kernels
! viewfold pass: views takes a tensor graph (`graph @...`); @product_0 is a kernel without loops (`index @...`)
? 2

== what pass takes
$ viewfold pass crop 'f32[4]'
! viewfold pass: crop takes a kernel without loops (`index @...`); @chain is a tensor graph (`graph @...`): viewfold dump --stage=index FILE.vf | viewfold pass crop -
? 2
$ viewfold pass lower 'f32[4]' | viewfold pass crop -
! viewfold pass: crop takes a kernel without loops (`index @...`); @chain is a tensor graph (`graph @...`): viewfold dump --stage=index FILE.vf | viewfold pass crop -
? 2
$ viewfold dump --stage=loops 'f32[4]' > loops
$ viewfold pass loops loops
! viewfold pass: loops takes a kernel without loops (`index @...`); @chain_0 is a kernel with loops (`kernel @...`)
? 2
$ viewfold pass shore 'f32[4]'
! viewfold pass: unknown pass 'shore'; did you mean share?
! Try 'viewfold pass --help'.
? 2
$ viewfold pass crop
! viewfold pass: the name of a pass and a file are needed, as in viewfold pass lower FILE.vf
! Try 'viewfold pass --help'.
? 2
$ viewfold pass crop a b
! viewfold pass: one file at a time, found 'b' as well
! Try 'viewfold pass --help'.
? 2

== a kernel is read as it is written
<<< odd.vf
index @odd(n=1..4, p0: bool[4], p1: i64[4], p2: i64[4]) {
  range ridx0 in 0..4
  %0 = load p1[((ridx0+1)+-1)] : i64
  %1 = load p2[ridx0] : i64
  %2 = cast %0 dtype=bool : bool
  %3 = cast %1 dtype=bool : bool
  store p0[ridx0] = ((%3&%2)|(!(ridx0<2)))
}
>>>
$ viewfold dump --stage=graph odd.vf
index @odd(p0: bool[4], p2: i64[4], p1: i64[4]) {
  range ridx0 in 0..4
  %0 = load p2[ridx0] : i64
  %1 = cast %0 dtype=bool : bool
  %2 = load p1[((ridx0+1)+-1)] : i64
  %3 = cast %2 dtype=bool : bool
  store p0[ridx0] = ((%1&%3)|!(ridx0<2))
}

== what lowering leaves of any, all and mean reads back
<<< empty.vf
graph @empty(%x: i8[n=0..2,3]) {
  %a = any %x axes=[0]
  %b = all %x axes=[0]
  %m = mean %x axes=[1]
  return %a, %b, %m
}
>>>
<<< symbolic.vf
graph @symbolic(%x: f32[n=1..9,3]) {
  %m = mean %x
  return %m
}
>>>
$ for f in empty.vf symbolic.vf; do sh steps.sh 'vector_bytes=32' $f physicalize scans lower order values split copies pack parts schedule regroup; done
lower
lower
$ viewfold dump --print-after=lower symbolic.vf | grep cast
[..] = cast (n*3) dtype=f32 : f32[]
$ viewfold run empty.vf --in 'x=[]' --size n=0 2>&1 | head -3
a: bool[3] = [false, false, false]
b: bool[3] = [true, true, true]
m: f32[0] = []
