# What fills no whole step of an axis of variable size: passes/loops/partial.c.

<<< columns.vf
graph @g(%a: f32[22,64], %b: f32[64,n=43..50]) {
  %y = matmul %a, %b
  return %y
}
>>>

== a vector that would pass the end begins before it, and stores only what no other thread does; the last one is half as wide where that is enough
$ viewfold dump --stage=loops --target x86-64-v4 columns.vf | grep 'load p1\|store\|update' | sed 's/\[.*\]//; s/^ *//'
%9 = load p1 : f32
store p0 = %6
%19 = load p1 : f32
update p0 = %16 if ((ridx19+%13)>=32)
%26 = load p1 : f32
update p0 = %23 if ((n+ridx24)>=52)

== column j is j times 0 + 1 + ... + 63
<<< data.sh
printf 'graph @d() {\n  %%a = iota shape=[22,64] axis=1 dtype=f32\n  %%b = iota shape=[64,%s] axis=1 dtype=f32\n  return %%a, %%b\n}\n' $1 > d.vf
viewfold run d.vf --out a=a.npy --out b=b.npy
>>>
$ for n in 43 48 50; do sh data.sh $n; viewfold run --threads 2 columns.vf --in a=a.npy --in b=b.npy; done
y: f32[22,43] min 0.0 max 84672.0 mean 42336 first 0.0 2016.0 4032.0 6048.0 8064.0 10080.0 ...
y: f32[22,48] min 0.0 max 94752.0 mean 47376 first 0.0 2016.0 4032.0 6048.0 8064.0 10080.0 ...
y: f32[22,50] min 0.0 max 98784.0 mean 49392 first 0.0 2016.0 4032.0 6048.0 8064.0 10080.0 ...

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
