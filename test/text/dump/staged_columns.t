# Columns of a variable number that a step of columns copies to a local: passes/loops/staged_columns.c.

<<< columns.vf
graph @g(%a: f32[40,130], %b: f32[130,n=1..4096]) {
  %y = matmul %a, %b
  return %y
}
>>>

== each step copies its columns of all terms, [130, 64], and all tiles of rows read them there; where rows of columns lie near one another they are read where they are
$ viewfold dump --stage=loops --target x86-64-v4 columns.vf | grep 'where\|local\|store l0\|load l0' | sed 's/^ *//; s/ridx[0-9]*/r/g; s/%[0-9]*/%v/g'
for r in 0..where((n<256), 0, 1) {
local l0: f32[4160] over r, r
store l0[(%v+%v+r)] = %v
%v = load l0[(%v+r+(r*32))] : f32
for r in 0..where((n<256), 1, 0) {

== many rows always read a copy
$ sed 's/\[40,/[128,/' columns.vf | viewfold dump --stage=loops --target x86-64-v4 - | grep -c 'where\|local'
1

== few rows need no copy, nor do few terms of less than many rows
$ sed 's/\[40,/[31,/' columns.vf | viewfold dump --stage=loops --target x86-64-v4 - | grep -c local
0
? 1
$ sed 's/130/64/g' columns.vf | viewfold dump --stage=loops --target x86-64-v4 - | grep -c local
0
? 1
== of a batch, each product's columns; any number of them gives the bits of a known number
<<< batch.vf
graph @g(%a: f32[3,R,T], %b: f32[3,T,n=1..700]) {
  %y = matmul %a, %b
  return %y
}
>>>
<<< data.vf
graph @d() {
  %i = iota shape=[3,R,T] axis=1 dtype=f32
  %j = iota shape=[3,R,T] axis=2 dtype=f32
  %k = mul %i, 0.7
  %l = add %k, %j
  %a = sin %l
  %o = iota shape=[3,T,N] axis=1 dtype=f32
  %p = iota shape=[3,T,N] axis=2 dtype=f32
  %q = mul %o, 0.3
  %r = add %p, %q
  %b = cos %r
  return %a, %b
}
>>>
$ for r in 33 130; do for n in 31 64 100 300 700; do sed "s/R/$r/g; s/T/129/g; s/N/$n/g" data.vf > d.vf; viewfold run d.vf --out a=a.npy --out b=b.npy > /dev/null; sed "s/R/$r/; s/T/129/g" batch.vf > open.vf; sed "s/n=1..700/$n/" open.vf > known.vf; for v in open known; do viewfold run $v.vf --threads 2 --in a=a.npy --in b=b.npy --out y=$v.npy > /dev/null; done; cmp open.npy known.npy && echo same; done; done | grep -c same
10
