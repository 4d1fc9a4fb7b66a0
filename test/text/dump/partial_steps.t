# What fills no whole step of an axis of variable size: passes/loops/partial.c.

<<< columns.vf
graph @g(%a: f32[22,64], %b: f32[64,n=43..50]) {
  %y = matmul %a, %b
  return %y
}
>>>

== a vector that would pass the end begins before it, and stores only what no other thread does; the last one is half as wide where that is enough
$ sed 's/43[.][.]50/93..100/' columns.vf | viewfold dump --stage=loops --target x86-64-v4 - | grep 'load p1\|store\|update' | sed 's/\[.*\]//; s/^ *//'
%21 = load p1 : f32
store p0 = %18
%35 = load p1 : f32
store p0 = %32
%43 = load p1 : f32
update p0 = %40 if ((ridx26+%5+%37)>=-544)
%51 = load p1 : f32
update p0 = %48 if ((ridx31+%5+%7+%45)>=-544)

== a few columns are all of one thread, which stores elements twice
$ viewfold dump --stage=loops --target x86-64-v4 columns.vf | grep 'load p1\|store\|update' | sed 's/\[.*\]//; s/^ *//'
%9 = load p1 : f32
store p0 = %6
%18 = load p1 : f32
store p0 = %15
%26 = load p1 : f32
store p0 = %23
%33 = load p1 : f32
store p0 = %30

== of at least 2 and at most 9 columns, 9 are two vectors that overlap, in one step
$ sed 's/\[22,/[128,/; s/43[.][.]50/2..9/' columns.vf | viewfold dump --stage=loops --target x86-64-v4 - | grep ' unroll\|vector {\|store\|update' | sed 's/\[.*\]//; s/ridx[0-9]*/r/; s/%[0-9]*/%v/g; s/^ *//'
\# kernel 0 nest 0: split a0 8; split a1 16; split a1 8; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0 a0.0
for r in 0..8 unroll {
for r in 0..2 unroll {
for r in 0..8 vector {
store p0 = %v
for r in 0..8 unroll {
for r in 0..8 vector {
update p0 = %v if %v

== of at least 57 and at most 64 columns, any number is four vectors, of which the last one overlaps, in one step
$ sed 's/\[22,/[128,/; s/43[.][.]50/57..64/' columns.vf | viewfold dump --stage=loops --target x86-64-v4 - | grep ' unroll\|vector {\|store\|update' | sed 's/\[.*\]//; s/ridx[0-9]*/r/; s/%[0-9]*/%v/g; s/^ *//'
\# kernel 0 nest 0: split a0 4; split a1 64; split a1 16; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0 a0.0
for r in 0..4 unroll {
for r in 0..4 unroll {
for r in 0..16 vector {
store p0 = %v

== of at least 56 they may be three vectors and a narrow one: tiles are two vectors wide
$ sed 's/\[22,/[128,/; s/43[.][.]50/56..64/' columns.vf | viewfold dump --stage=loops --target x86-64-v4 - | grep -o 'split a1 [0-9]*; split a1 16'
split a1 32; split a1 16

== column j is j times 0 + 1 + ... + 63
<<< data.sh
printf 'graph @d() {\n  %%a = iota shape=[22,64] axis=1 dtype=f32\n  %%b = iota shape=[64,%s] axis=1 dtype=f32\n  return %%a, %%b\n}\n' $1 > d.vf
viewfold run d.vf --out a=a.npy --out b=b.npy
>>>
$ for n in 43 48 50; do sh data.sh $n; viewfold run --threads 2 columns.vf --in a=a.npy --in b=b.npy; done
y: f32[22,43] min 0.0 max 84672.0 mean 42336 first 0.0 2016.0 4032.0 6048.0 8064.0 10080.0 ...
y: f32[22,48] min 0.0 max 94752.0 mean 47376 first 0.0 2016.0 4032.0 6048.0 8064.0 10080.0 ...
y: f32[22,50] min 0.0 max 98784.0 mean 49392 first 0.0 2016.0 4032.0 6048.0 8064.0 10080.0 ...

$ sed 's/43[.][.]50/57..64/' columns.vf > wide.vf; for n in 57 60 63 64; do sh data.sh $n; viewfold run --threads 2 wide.vf --in a=a.npy --in b=b.npy; done
y: f32[22,57] min 0.0 max 112896.0 mean 56448 first 0.0 2016.0 4032.0 6048.0 8064.0 10080.0 ...
y: f32[22,60] min 0.0 max 118944.0 mean 59472 first 0.0 2016.0 4032.0 6048.0 8064.0 10080.0 ...
y: f32[22,63] min 0.0 max 124992.0 mean 62496 first 0.0 2016.0 4032.0 6048.0 8064.0 10080.0 ...
y: f32[22,64] min 0.0 max 127008.0 mean 63504 first 0.0 2016.0 4032.0 6048.0 8064.0 10080.0 ...

== of a number of rows that is a variable, tiles suit the largest one: 33 are five of 6 and a step of 4
$ sed 's/\[22,64\]/[n=26..33,64]/; s/n=43..50/48/' columns.vf > rows.vf; viewfold dump --stage=loops --target x86-64-v4 rows.vf | grep -o 'split a0 [0-9]*'
split a0 6

== a transpose of what fills no whole step is made in registers, without the lanes that are not loaded
<<< transpose.vf
graph @t(%s: f32[]) {
  %i = iota shape=[n=10..17,48] axis=0 dtype=f32
  %j = iota shape=[n,48] axis=1 dtype=f32
  %p = mul %i, 100
  %q = add %p, %j
  %x = stored %q
  %y = permute %x order=[1,0]
  return %y
}
>>>
$ viewfold dump --stage=llvm --target x86-64-v4 transpose.vf | grep gather | wc -l
0
$ for n in 10 11 15 16 17; do viewfold run transpose.vf --in s=1 --size n=$n --check; done | grep -c bit-equal
5

== sums of columns are the same whether the number of columns is known or a variable; so are sums of rows, whose remainder is whole vectors and one under a mask
<<< sums.vf
graph @s(%s: f32[]) {
  %i = iota shape=[200,n=24..31] axis=0 dtype=f32
  %j = iota shape=[200,n] axis=1 dtype=f32
  %p = mul %i, %j
  %v = sin %p
  %w = mul %v, %s
  %y = sum %w axes=[0]
  return %y
}
>>>
$ for n in 24 27 31; do sed "s/n=24..31/$n/; s/,n\]/,$n]/" sums.vf > known.vf; viewfold run known.vf --in s=0.7 --out y=known.npy; viewfold run sums.vf --in s=0.7 --size n=$n --out y=open.npy; cmp known.npy open.npy; done
$ sed 's/200/40/g; s/24\.\.31/64..130/; s/axes=\[0\]/axes=[1]/' sums.vf > rows.vf; viewfold dump --stage=loops --target x86-64-v4 rows.vf | grep -c 'load.* if '
1
$ for n in 64 65 79 80 127 128 130; do sed "s/n=64..130/$n/; s/,n\]/,$n]/" rows.vf > known.vf; viewfold run known.vf --in s=0.7 --out y=known.npy; viewfold run rows.vf --in s=0.7 --size n=$n --out y=open.npy; cmp known.npy open.npy; done

== a copy of columns of which there are 1, 2 or 3 has loops for each number: elements are picked from whole vectors
<<< narrow.vf
graph @n(%a: f32[128,n=1..3]) {
  %y = permute %a order=[1,0]
  return %y
}
>>>
$ viewfold dump --stage=loops narrow.vf | grep 'for.*where'
    for ridx7 in 0..where((n<2), 1, 0) {
    for ridx11 in 0..where((n==2), 1, 0) {
    for ridx17 in 0..where((n<3), 0, 1) {
$ viewfold dump --stage=llvm --target x86-64-v4 narrow.vf | grep gather | wc -l
0
<<< columns.vf
graph @d() {
  %a = iota shape=[128,3] axis=0 dtype=f32
  %b = iota shape=[128,3] axis=1 dtype=f32
  %c = mul %a, 10
  %x = add %b, %c
  %y = slice %x bounds=[[0,128],[0,2]]
  %z = slice %x bounds=[[0,128],[1,2]]
  return %x, %y, %z
}
>>>
$ viewfold run columns.vf --out x=x.npy --out y=y.npy --out z=z.npy > made
$ for f in x y z; do viewfold run narrow.vf --in a=$f.npy --check; done
y: f32[3,128] min 0.0 max 1272.0 mean 636 first 0.0 10.0 20.0 30.0 40.0 50.0 ...
check y: 384 elements, bit-equal
y: f32[2,128] min 0.0 max 1271.0 mean 635.5 first 0.0 10.0 20.0 30.0 40.0 50.0 ...
check y: 256 elements, bit-equal
y: f32[1,128] min 1.0 max 1271.0 mean 636 first 1.0 11.0 21.0 31.0 41.0 51.0 ...
check y: 128 elements, bit-equal

== an index that is within its axis is so in the blocks of rows of a group, too: windows of an image of a variable width take no remainders
<<< conv.vf
graph @w(%x: f32[1,16,14,n=1..4096], %w: f32[32,16,3,3]) {
  %y = conv %x, %w padding=[1,1]
  return %y
}
>>>
$ viewfold dump --stage=index --target x86-64-v4 conv.vf | grep 'load p2'
  %0 = load p2[(ridx1+(ridx5*32)+ridx7+((n*ridx5)*16)+(n*ridx6)+((ridx0%((n+63)//64))*64)+(n*(ridx0//((n+63)//64)))+((ridx6+(ridx0//((n+63)//64)))*2))] : f32

== windows slide along an axis whose elements a variable number lie apart
<<< depth.vf
graph @w(%x: f32[1,32,14,n=1..4096], %w: f32[32,1,3,3]) {
  %y = conv %x, %w padding=[1,1] groups=32
  return %y
}
>>>
$ viewfold dump --stage=loops --target x86-64-v4 depth.vf | grep -o 'split a1 4\|unroll a1.1'
split a1 4
unroll a1.1

== rows a variable number of elements apart are computed again in a last step, and are no more than there are registers for their addresses
<<< square.vf
graph @w(%a: f32[n=1..4096,n], %b: f32[n,n]) {
  %y = matmul %a, %b
  return %y
}
>>>
$ viewfold dump --stage=loops --target x86-64-v4 square.vf | grep -o 'split a0 8'
split a0 8

== tiles of many results of few terms are four vectors wide
$ sed 's/22,64/n=1..4096,64/; s/n=43..50/n/' columns.vf | viewfold dump --stage=loops --target x86-64-v4 - | grep -o 'split a1 64; split a1 16'
split a1 64; split a1 16

== height and width of a 1 x 1 convolution are the columns of one product where the height is a variable, too
<<< pointwise.vf
graph @w(%x: f32[1,64,n=1..4096,14], %w: f32[64,64,1,1]) {
  %y = conv %x, %w
  return %y
}
>>>
$ viewfold dump --stage=loops --target x86-64-v4 pointwise.vf | grep -c '^kernel'
1

== all compute what the evaluator does
<<< made.vf
graph @m(%s: i32[]) {
  %i = iota shape=[1,32,14,n=1..200] axis=3 dtype=i32
  %j = iota shape=[1,32,14,n] axis=2 dtype=i32
  %k = mul %i, %s
  %l = add %k, %j
  %m = mod %l, 11
  %o = cast %m dtype=f32
  %x = stored %o
  %p = iota shape=[32,COUNT,3,3] axis=0 dtype=i32
  %q = iota shape=[32,COUNT,3,3] axis=3 dtype=i32
  %r = add %p, %q
  %t = mod %r, 5
  %u = cast %t dtype=f32
  %w = stored %u
  %y = conv %x, %w padding=[1,1] groups=GROUPS
  return %y
}
>>>
$ for g in 1 32; do sed "s/GROUPS/$g/; s/COUNT/$((32 / g))/" made.vf > m.vf; for n in 1 2 17 63 64 65; do viewfold run m.vf --in s=7 --size n=$n --check; done; done | grep -c bit-equal
12
<<< made1.vf
graph @m(%s: i32[]) {
  %i = iota shape=[1,32,n=1..200,14] axis=3 dtype=i32
  %j = iota shape=[1,32,n,14] axis=2 dtype=i32
  %k = mul %j, %s
  %l = add %k, %i
  %m = mod %l, 11
  %o = cast %m dtype=f32
  %x = stored %o
  %p = iota shape=[48,32,1,1] axis=0 dtype=i32
  %t = mod %p, 5
  %u = cast %t dtype=f32
  %w = stored %u
  %y = conv %x, %w
  return %y
}
>>>
$ for n in 1 2 5 33; do viewfold run made1.vf --in s=7 --size n=$n --check; done | grep -c bit-equal
4
