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
sh steps.sh "$1" "$2" views fold elementary crop refine domains rows peel stream prefetch separate stage share loops
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
$ sh steps.sh 'vector_bytes=64 registers=32' product.vf physicalize scans lower copies pack parts
lower
copies
pack

== steps over kernels, for processors
$ sh kernel.sh 'vector_bytes=32 registers=16 masks=1 l3=1048576' moved.vf
elementary
crop
rows
loops
$ sh kernel.sh 'vector_bytes=32 registers=16 masks=0' 'f32[96,64].pad((1,0),(0,0)).shrink((0,96),(0,64)).permute(1,0).reshape(96,64).pad((4,0),(0,0))'
crop
refine
domains
loops
$ sh kernel.sh 'vector_bytes=32 registers=16 l3=65536' 'f32[65536].flip(0)'
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
$ sh kernel.sh 'lanes=32 local=65536' 'f32[6,4].pad((1,0),(0,0)).shrink((0,6),(0,4)).permute(1,0)'
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

== what pass takes
$ viewfold pass crop 'f32[4]'
! viewfold pass: crop takes a kernel without loops (`index @...`); @chain is a tensor graph (`graph @...`)
? 2
$ viewfold pass lower 'f32[4]' | viewfold pass crop -
! viewfold pass: crop takes a kernel without loops (`index @...`); @chain is a tensor graph (`graph @...`)
? 2
$ viewfold pass views 'f32[4]'
! viewfold pass: views makes or reads the plan of a whole graph, which has no text; viewfold dump --print-after=views shows what it leaves
? 2
$ viewfold pass schedule 'f32[4]'
! viewfold pass: schedule makes or reads the plan of a whole graph, which has no text; viewfold dump --print-after=schedule shows what it leaves
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
! viewfold pass: the name of a pass and a file are needed
! Try 'viewfold pass --help'.
? 2
$ viewfold pass crop a b
! viewfold pass: one file at a time, found 'b' as well
! Try 'viewfold pass --help'.
? 2
