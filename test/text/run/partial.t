# Axes of variable size: what fills no whole step, in partial steps (passes/loops/partial.c).
<<< partial.vf
graph @partial(%s: f32[]) {
  %i = iota shape=[m=1..64,5] axis=0 dtype=i32
  %j = iota shape=[5,n=1..200] axis=1 dtype=i32
  %k = iota shape=[5,n] axis=0 dtype=i32
  %p = mul %i, 7
  %q = mod %p, 5
  %a = cast %q dtype=TYPE
  %r = mul %j, %k
  %t = mod %r, 9
  %b = cast %t dtype=TYPE
  %y = matmul %a, %b
  %h = sub %y, 3
  %z = max %h, 0
  %c = sum %z axes=[0]
  return %y, %z, %c
}
>>>
== products, elementwise operations and sums of columns of variable sizes are those of the evaluator
$ for t in f32 f16; do sed s/TYPE/$t/ partial.vf > other.vf; for n in 1 7 16 17 31 33 65; do for m in 1 4 13 29; do viewfold run other.vf --in s=1 --size m=$m --size n=$n --check; done; done; done | grep -c bit-equal
168
$ sed s/TYPE/f32/ partial.vf > other.vf; for t in sse4.2:16:0 avx2,+fma:32:1; do for n in 3 17 31; do viewfold run other.vf --in s=1 --size m=13 --size n=$n --target "features=+${t%%:*} vector_bytes=$(echo $t | cut -d: -f2) registers=16 fma=0 masks=${t##*:}" --check; done; done | grep -c bit-equal
18

== stores under masks, where the machine has them; never of a known size
<<< rows.vf
graph @rows(%x: f32[4,n=1..64]) {
  %y = mul %x, 2.0
  %z = sum %y axes=[0]
  return %z
}
>>>
$ viewfold dump --stage=loops --target "features=+avx2,+fma vector_bytes=32 registers=16 fma=1 masks=1" rows.vf | grep update
        update p0[(%62+ridx24+%5)] = %75 if ((n+%63+(ridx24*-1)+%6)>=1)
$ viewfold dump --stage=c --target "features=+avx2,+fma vector_bytes=32 registers=16 fma=1 masks=1" rows.vf | grep '   storeif_'
      storeif_f32x8(p0 + [..], v[..], v[..]);
$ viewfold dump --stage=loops --target "features=+sse4.2 vector_bytes=16 registers=16 fma=0 masks=0" rows.vf | grep update | wc -l
0
$ sed s/n=1..64/50/ rows.vf > known.vf; viewfold dump --stage=loops --target "features=+avx2,+fma vector_bytes=32 registers=16 fma=1 masks=1" known.vf | grep update | wc -l
0
