# --target: code for another description of a machine runs where this one can run it, with the same bits.

<<< rows.vf
graph @rows(%x: f32[3,5]) {
  %s = sum %x axes=[1]
  %m = softmax %x axis=1
  return %s, %m
}
>>>

== fewer registers and bytes in a vector, other caches
$ viewfold run rows.vf --in 'x=[[1,2,3,4,5],[0.1,0.2,0.3,0.4,0.5],[9,8,7,6,5]]' --out m=here.npy
s: f32[3] = [15.0, 1.5, 35.0]
$ viewfold run rows.vf --in 'x=[[1,2,3,4,5],[0.1,0.2,0.3,0.4,0.5],[9,8,7,6,5]]' --out m=there.npy --target 'vector_bytes=16 registers=16 masks=0 l1=8192 l2=65536 l3=536870912 read_past=1'
s: f32[3] = [15.0, 1.5, 35.0]
$ cmp here.npy there.npy

== each description is compiled for itself
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] > here
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] --target l3=8192 | cmp - here
$ viewfold cache stat | grep -E '^plan '
plan      2 entries, [..]
$ VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] --target l3=8192 | cmp - here

== what this machine cannot run is refused by name, and looked at by dump
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] --target 'features=+no-such-unit'
! viewfold run: target: this processor cannot run code for '+no-such-unit' of features=; leave it out, or look at the code by `viewfold dump`
? 3
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] --target 'lanes=64 local=32768'
! viewfold run: target: this processor cannot run code for lanes=64; it takes 0
? 3
$ viewfold dump --stage=loops --target 'lanes=64 local=32768' 'f32[4].flip(0)' | grep -c '^kernel'
1
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] --target 'l3=3'
! viewfold run: target: 'l3=3': l3 must be a power of two
? 2

== bench takes it too, and refuses in the same way
$ echo quit | viewfold bench --serve --target 'vector_bytes=16 l3=4096'
ok
$ viewfold bench --json --target 'triple=riscv64-unknown-linux-gnu' L2chain
! viewfold bench: target: this processor cannot run code for triple=riscv64-unknown-linux-gnu; it is [..]
? 3
