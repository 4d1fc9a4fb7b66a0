# What fills no whole step of an axis of variable size: passes/loops/partial.c.

<<< columns.vf
graph @g(%a: f32[22,64], %b: f32[64,n=43..50]) {
  %y = matmul %a, %b
  return %y
}
>>>

== a vector that would pass the end begins before it, and stores only what no other thread does
$ viewfold dump --stage=loops --target x86-64-v4 columns.vf | grep 'load p1\|store\|update' | sed 's/\[.*\]//; s/^ *//'
%9 = load p1 : f32
store p0 = %6
%19 = load p1 : f32
update p0 = %16 if ((ridx19+%13)>=32)

== column j is j times 0 + 1 + ... + 63
<<< data.sh
printf 'graph @d() {\n  %%a = iota shape=[22,64] axis=1 dtype=f32\n  %%b = iota shape=[64,%s] axis=1 dtype=f32\n  return %%a, %%b\n}\n' $1 > d.vf
viewfold run d.vf --out a=a.npy --out b=b.npy
>>>
$ for n in 43 48 50; do sh data.sh $n; viewfold run --threads 2 columns.vf --in a=a.npy --in b=b.npy; done
y: f32[22,43] min 0.0 max 84672.0 mean 42336 first 0.0 2016.0 4032.0 6048.0 8064.0 10080.0 ...
y: f32[22,48] min 0.0 max 94752.0 mean 47376 first 0.0 2016.0 4032.0 6048.0 8064.0 10080.0 ...
y: f32[22,50] min 0.0 max 98784.0 mean 49392 first 0.0 2016.0 4032.0 6048.0 8064.0 10080.0 ...
