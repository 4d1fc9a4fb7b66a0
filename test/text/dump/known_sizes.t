# Variables of one value: passes/lower/known_sizes.c.

<<< one.vf
graph @g(%a: f32[12,768], %b: f32[768,n=1..1]) {
  %y = matmul %a, %b
  return %y
}
>>>

<<< scan.vf
graph @step(%s: f32[n=1..1,4], %x: f32[n,4]) {
  %t = add %s, %x
  return %t, %t
}

graph @g(%s: f32[n=1..1,4], %x: f32[3,n,4]) {
  %z = iota shape=[n,4] axis=1 dtype=f32
  %r, %t = scan %s, %x do=@step carries=1 sliced=1 length=3
  %y = add %r, %z
  return %y, %t
}
>>>

== loops are those of the number, and with them the order of a sum
$ sed 's/n=1..1/1/' one.vf > number.vf; for f in one number; do viewfold dump --stage=loops $f.vf > $f.loops; done; cmp one.loops number.loops && grep -c vector one.loops
2

== ports keep the variable
$ viewfold dump --stage=graph one.vf | head -1
graph @g(%a: f32[12,768], %b: f32[768,n=1..1]) {

== in functions as well, whose parameters have it
$ printf 'graph @d() {\n  %%s = iota shape=[1,4] axis=1 dtype=f32\n  %%x = iota shape=[3,1,4] axis=0 dtype=f32\n  return %%s, %%x\n}\n' > d.vf
$ viewfold run d.vf --out s=s.npy --out x=x.npy > /dev/null; viewfold run --graph g scan.vf --in s=s.npy --in x=x.npy
y: f32[1,4] = [[3.0, 5.0, 7.0, 9.0]]
t: f32[3,1,4] = [[[0.0, 1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0, 4.0]], [[3.0, 4.0, 5.0, 6.0]]]
