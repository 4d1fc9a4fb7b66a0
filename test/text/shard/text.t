# Meshes and specs in the text of graphs. spec: M1 M3 M5 M6 M12

== what is printed reads back
<<< mlp.vf
mesh @m [x=2, y=4] latency=[1e-6,2e-6] memory=8e9
graph @mlp(%h: f32[16,32] @m[x,-], %w: f32[32,128] @m[-,y], %v: f32[128,32] @m[y,-]) {
  %s = matmul %h, %w       : f32[16,128] @m[x,y]
  %a = relu %s             : f32[16,128] @m[x:(1)2,y? p1]
  %p = matmul %a, %v       : f32[16,32] @m[x,-]+y      # a pending sum
  %q = shard %p to=[x , -] : f32[16,32] @m[x,-]!y
  return %q
}
>>>
$ viewfold dump --stage=graph mlp.vf | tee printed.vf
mesh @m [x=2,y=4] latency=[1e-06,2e-06] memory=8000000000.0
graph @mlp(%h: f32[16,32] @m[x,-], %w: f32[32,128] @m[-,y], %v: f32[128,32] @m[y,-]) {
  %0 = matmul %h, %w : f32[16,128] @m[x,y]
  %1 = relu %0 : f32[16,128] @m[x,y? p1]
  %2 = matmul %1, %v : f32[16,32] @m[x,-]+y
  %q = shard %2 to=[x,-] : f32[16,32] @m[x,-]!y
  return %q
}
$ viewfold dump --stage=graph printed.vf | diff printed.vf -

== on one device a spec changes nothing
<<< one.vf
mesh @m [x=2]
graph @one(%x: f32[4] @m[x]) {
  %y = neg %x : f32[4] @m[x]
  %z = shard %y to=[-]
  return %z
}
>>>
$ viewfold dump --stage=kernels one.vf | grep -c '^kernel'
1

== errors
<<< err
printf 'mesh @m [x=2]\ngraph @g(%%x: f32[4]%s) {\n  %%y = %s\n  return %%y\n}\n' "$1" "$2" > e.vf
viewfold dump --stage=graph e.vf
>>>
$ sh err ' @m[x,-]' 'neg %x'
! e.vf:2:21: error: wrong spec, found 2 dimensions, expected the 1 of the value: an entry for each axis, - where it is whole, as in @m[x]
? 2
$ sh err ' @k[x]' 'neg %x'
! e.vf:2:21: error: unknown mesh, found '@k', expected '@m'
? 2
$ sh err ' @m[z]' 'neg %x'
! e.vf:2:24: error: no axis of the mesh, found 'z', expected one of x
? 2
$ sh err '' 'shard %x to=[x,x]'
! e.vf:3:20: error: sharding: x and x overlap: an axis stands once in all of a spec
? 2
$ sh err '' 'shard %x to=[-,-]'
! e.vf:3:3: error: shard: the spec has 2 dimensions; x has shape f32[4]; an entry for each axis, - where it is whole
? 2
$ sh err '' 'shard %x to=3'
! e.vf:3:3: error: [..]
? 2
$ sh err ' @m[x]' 'neg %x : f32[4] @m[x,'
! e.vf:3:29: error: no axis of the mesh, found the end of the line, expected one of x
? 2
$ printf 'graph @g(%%x: f32[4] @m[x]) {\n  return %%x\n}\n' > none.vf; viewfold dump --stage=graph none.vf
! none.vf:1:23: error: no mesh, found '[', expected a mesh above the graph, as in mesh @m [x=2,y=4]
? 2
$ printf 'mesh @m [x=2]\nmesh @k [x=4]\n' > two.vf; viewfold dump --stage=graph two.vf
! two.vf:2:6: error: a second mesh, found '@k', expected '@m' again: all graphs of a file have one mesh
? 2
$ printf 'mesh @m [x=2]\ngraph @g(%%x: f32[4]) {\n  %%a = neg %%x : f32[4] @m[x]\n  %%b = neg %%x : f32[4] @m[-]\n  return %%a, %%b\n}\n' > twice.vf; viewfold dump --stage=graph twice.vf
! twice.vf:4:24: error: a second spec of a value, found another than before, expected the same; shard divides it anew
? 2

== axes by their letters. spec: W11
<<< letters.vf
mesh @m [x=2,y=2]
graph @g(%a: f32[b=4,h=6,c=8]) {
  %y = shard %a to="c@y b@x"
  return %y
}
>>>
$ viewfold dump --stage=graph letters.vf | grep shard
  %y = shard %a to=[x,-,y] : f32[b=4,h=6,c=8]
$ sed 's/c@y/w@y/' letters.vf > w.vf; viewfold dump --stage=graph w.vf
! w.vf:3:3: error: shard: there is no axis 'w'; x has shape f32[b=4,h=6,c=8]; axes have letters where a type or name_axes gives them
? 2
$ sed 's/c@y/b@y/' letters.vf > b.vf; viewfold dump --stage=graph b.vf
! b.vf:3:3: error: shard: axis 'b' is named twice in b@y b@x
? 2
$ sed 's/c@y/c=y/' letters.vf > c.vf; viewfold dump --stage=graph c.vf
! c.vf:3:3: error: shard: 'c=y' names no axis and what divides it; takes an entry for each axis, as in [x,-], or letters of axes, as in "b@x c@y.z"
? 2
