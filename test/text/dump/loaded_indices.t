# Loads inside of indices: they are carried out in lanes that are not valid, too.
<<< rows.vf
graph @rows(%x: u8[41,49], %i: i64[1,2]) {
  %p = address %x
  %s = stride %p steps=[2,1]
  %o = pad %s value=-1 pads=[[0,0],[0,2]]
  %g = gather %o, %i axis=0
  %t = reshape %g shape=[51,2,1]
  %e = stride %x steps=[2,1]
  %f = pad %e pads=[[0,0],[0,2]]
  %h = gather %f, %i axis=0
  %u = reshape %h shape=[51,2,1]
  %y = assign %x, %t, %u op=add
  return %y
}
>>>

== (ridx3//25) is ((2*ridx3+ridx4)//51) where the load of p2 is valid, and elsewhere it is up to 2, past the end of p1
$ viewfold dump --stage=loops rows.vf | grep -o 'load p1\[.*//.*\]'
load p1[((%2+ridx4)//51)]
$ viewfold dump --stage=loops rows.vf | grep -o 'load p2\[.*'
load p2[(%2+ridx4+%3+(%5*98))] if ((%2+ridx4+(((%2+ridx4)//51)*-51))<49) : u8

== what fills no vector of rows that are gathered is done in lanes, as of other rows
<<< rows.vf
graph @rows(%i: i64[32], %x: f32[14,47,24]) {
  %r = gather %x, %i axis=0 mode=clip
  %y = log_softmax %r axis=2
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' rows.vf | grep -c 'in 0..8 with'
? 1
0

== a dear function of one byte is a table of all bytes, made once, with the same bits, in registers where the processor picks bytes from two; a cheap one is computed
<<< bytes.vf
graph @silu(%q: i8[20,256]) {
  %f = cast %q dtype=f32
  %h = mul %f, 0.03
  %s = sigmoid %h
  %t = mul %s, 255.0
  %r = round %t
  %u = cast %r dtype=u8
  %v = cast %u dtype=f32
  %w = mul %v, 0.004
  %p = mul %h, %w
  %d = div %p, 0.02
  %e = round %d
  %y = cast %e dtype=i8
  return %y
}

graph @relu(%q: u8[20,256]) {
  %f = cast %q dtype=f32
  %h = sub %f, 100.0
  %s = relu %h
  %d = mul %s, 0.7
  %y = cast %d dtype=u8
  return %y
}

graph @two(%q: u8[20,256], %p: u8[20,256]) {
  %f = cast %q dtype=f32
  %g = cast %p dtype=f32
  %h = mul %f, %g
  %s = tanh %h
  %t = sigmoid %s
  %d = mul %t, 200.0
  %y = cast %d dtype=u8
  return %y
}
>>>
$ viewfold dump --graph silu --print-after=tables bytes.vf | tail -6 | sed 's/%[0-9]*/%/g'
  % = stored % : i8[256]
  % = bitcast %q dtype=u8 : u8[20,256]
  % = cast % dtype=i32 : i32[20,256]
  %y = gather %, % axis=0 mode=clip : i8[20,256]
  return %y
}
$ viewfold check --graph silu bytes.vf
check y: 5120 elements, bit-equal
$ viewfold dump --print-after=tables bytes.vf | grep -c gather
1
$ viewfold dump --graph silu --stage=asm --target 'triple=x86_64-unknown-linux-gnu features=+avx512f,+avx512bw,+avx512vl,+avx512vbmi,+fma vector_bytes=64 registers=32 fma=1' bytes.vf | grep -c 'vperm[it]2b'
4
$ viewfold dump --graph silu --stage=asm --target 'triple=x86_64-unknown-linux-gnu features=+avx512f,+avx512bw,+avx512vl,+fma vector_bytes=64 registers=32 fma=1' bytes.vf | grep -c 'vperm[it]2b'
0
? 1

== where rows repeat elements around them, the inside has lanes of neighbours and the border loops of its own
<<< around.vf
graph @around(%x: f32[60,70]) {
  %y = pad %x pads=[[2,1],[3,2]] mode=reflect
  %z = pad %x pads=[[2,1],[3,2]] mode=edge
  return %y, %z
}
>>>
$ viewfold dump --print-after=peel --target x86-64-v4 around.vf | grep load
  %0 = load p1[((ridx9*-1)+(min(((ridx6*-1)+120), max((ridx6+-2), ((ridx6*-1)+2)))*70)+3)] : f32
  %1 = load p1[(ridx12+(min(((ridx6*-1)+120), max((ridx6+-2), ((ridx6*-1)+2)))*70))] : f32
  %2 = load p1[((ridx13*-1)+(min(((ridx6*-1)+120), max((ridx6+-2), ((ridx6*-1)+2)))*70)+69)] : f32
  %0 = load p1[(max(min((ridx6+-2), 59), 0)*70)] : f32
  %1 = load p1[(ridx12+(max(min((ridx6+-2), 59), 0)*70))] : f32
  %2 = load p1[((max(min((ridx6+-2), 59), 0)*70)+69)] : f32
$ viewfold check around.vf > out

== elements at places that an index holds are gathered only where that was measured to be faster than single loads
<<< along.vf
graph @along(%x: f32[64,512], %i: i32[64,512]) {
  %y = take_along_axis %x, %i axis=1
  return %y
}
>>>
$ for gather in 0 1; do viewfold dump --stage=asm --target "x86-64-v4 gather=$gather" along.vf | grep -c vgather; done
0
1
$ viewfold dump --stage=asm --target x86-64-v4 along.vf | grep -c -e movslq -e cltq
? 1
0

== an index that is checked ends the kernel where it is out of range: an update in the loop clamps nothing, and tests nothing again
<<< sums.vf
graph @sums(%x: f32[256], %i: i64[4096], %u: f32[4096]) {
  %y = scatter_add %x, %i, %u
  return %y
}
>>>
$ viewfold dump --stage=asm --target x86-64-v3 sums.vf > code; grep -c cmov code; grep -c -e 'set[gl]' -e andn code
? 1
1
0
