# Which divisions and masks remain in loop nests: `//`, `%` and ` if ` in their listings.
# test/property/prop_loops.c counts them for many chains and checks every element; these are the edge cases.

== a reshape after a permute: the loops are the common factors of both shapes
$ viewfold dump --stage=loops 'f32[2,8,3,5].reshape(2,2,2,2,3,5).permute(0,1,4,2,5,3).reshape(2,2,6,10)' | grep -e '//' -e ' % ' -e ' if '
? 1

== divisors that do not divide their axis: a main loop and a remainder
$ viewfold dump --stage=loops 'f32[10,7].permute(1,0).reshape(70).shrink((3,68))' | grep -e '//' -e ' if '
? 1

== padding is filled by stores of its own, and the interior tests nothing
$ viewfold dump --stage=loops 'f32[5,6].pad((1,2),(3,0))' | grep -e ' if '
? 1
$ viewfold dump --print-after=crop 'f32[5,6].pad((1,2),(3,0))' | grep -c 'store .* = f32(0.0)'
3

== a wrap is two sub-domains
$ viewfold dump --stage=loops 'f32[9].pad((0,4),mode=wrap)' | grep -e '//' -e ' if '
? 1
$ viewfold dump --print-after=peel 'f32[9].pad((0,4),mode=wrap)' | grep -c store
2

== another axis is innermost where the breakpoints of the last one lie at quotients of indices
$ viewfold dump --stage=loops 'f32[6,6].pad((2,2),(2,2)).reshape(4,25).permute(1,0)' | grep -e '//' -e ' if '
? 1

== after crop: three sub-domains; after refine: two levels
$ viewfold dump --print-after=crop 'f32[4].pad((1,1))' | grep -c 'store'
3
$ viewfold dump --print-after=refine 'f32[2,3].permute(1,0).reshape(6)' | grep -o 'in 0.*'
in 0..3
in 0..2

== symbolic sizes are refined and peeled like numbers
$ viewfold dump --stage=loops --target masks=0 'f32[n=4..64:4,3].permute(1,0).reshape(n*3).pad((1,1))' | grep -e ' if ' -e 'load.*//' -e 'load.*%n'
? 1

== every element, also for sizes known at run time only
<<< seen.vf
graph @seen(%x: f32[n=1..9,3]) {
  %a = pad %x pads=[[2,1],[1,0]]
  %b = permute %a order=[1,0]
  %c = reshape %b shape=[((n+3)*4)]
  %d = flip %c axes=[0]
  return %c, %d
}
>>>
$ viewfold run seen.vf --in 'x=[[1,2,3]]' --check | grep check
check c: 16 elements, bit-equal
check d: 16 elements, bit-equal
$ viewfold run seen.vf --in 'x=[[1,2,3],[4,5,6],[7,8,9],[1,2,3],[4,5,6]]' --check | grep check
check c: 32 elements, bit-equal
check d: 32 elements, bit-equal
<<< wrapped.vf
graph @wrapped(%x: f32[6,5]) {
  %a = pad %x pads=[[0,4],[3,0]] mode=wrap
  %b = reshape %a shape=[4,20]
  %c = pad %b pads=[[1,0],[0,1]] value=7
  %d = reshape %c shape=[7,15]
  %e = permute %d order=[1,0]
  %f = concat %e, %e axis=1
  return %f
}
>>>
$ viewfold run wrapped.vf --in 'x=[[1,2,3,4,5],[6,7,8,9,10],[11,12,13,14,15],[16,17,18,19,20],[21,22,23,24,25],[26,27,28,29,30]]' --check | grep check
check f: 210 elements, bit-equal

== a kernel of several sub-domains parses back to the same text
$ viewfold dump --print-after=peel 'f32[4,6].pad((0,0),(0,4)).reshape(40).shrink((0,36)).reshape(4,9)' | grep -v '^#' > pieces.vf
$ grep -c store pieces.vf
3
$ viewfold dump --stage=graph pieces.vf | cmp - pieces.vf

== short masked rows are coalesced where the target has masks, which are constants
<<< moved.vf
graph @moved(%x: f32[40,56]) {
  %p = pad %x pads=[[0,0],[1,0]]
  %y = shrink %p bounds=[[0,40],[0,56]]
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 masks=1' moved.vf | grep -e nest -e load
\# kernel 0 nest 0: split a0 112; split a0 16; unroll a0.1; vector a0.2
          %2 = load p1[(%0+%1+ridx11+-1)] if ((%1+ridx11+(((%1+ridx11)//56)*-56))>=1) : f32
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 masks=0' moved.vf | grep -c ' if '
? 1
0

== a quarter of a large output of small inputs stays in the caches, the rest is stored non-temporally
$ viewfold dump --stage=loops --target 'l1=1024 l2=2048 l3=8192' 'f32[64,64].flip(0)' | grep -o 'stream.*' | sort -u
stream
$ viewfold dump --stage=loops --target 'l1=1024 l2=2048 l3=65536' 'f32[1,4096].expand(7,4096)' > most.vf
$ grep -o 'stream.*' most.vf | sort -u
stream most
$ grep -v '^#' most.vf > kernel.vf; viewfold dump --stage=graph kernel.vf | cmp - kernel.vf

== a long sum of all axes, of which the last alone has even chunks, is over one axis, whose chunks are read in sequence, permuted or not
<<< all.vf
graph @all(%x: f32[59,13,512]) {
  %d = mul %x, %x
  %y = sum %d axes=[0,1,2]
  return %y
}
graph @permuted(%x: f32[59,13,512]) {
  %v = permute %x order=[2,0,1]
  %d = mul %v, %v
  %y = sum %d axes=[0,1,2]
  return %y
}
>>>
$ for g in all permuted; do viewfold dump --stage=loops --graph $g --target 'vector_bytes=64 registers=32' all.vf | grep -o -e 'in 0..32 thread' -e 'ridx[0-9]*.12272'; done
in 0..32 thread
ridx3*12272
in 0..32 thread
ridx3*12272
