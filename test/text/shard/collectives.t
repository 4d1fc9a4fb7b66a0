# Collectives as operations. spec: C4 C5 C6 C7 C8 C9 C10 C11 C12

== what is pending is carried out: everywhere, in parts, as a mean
<<< sums.vf
mesh @m [x=2]
graph @g(%a: f32[2,4] @m[x,-]) {
  %p = sum %a axes=[0]
  %r = all_reduce %p
  %s = reduce_scatter %p axis=0
  %m = pmean %p over=[x]
  %o = all_reduce %p over=[x]
  return %r, %s, %m, %o
}
>>>
$ viewfold run sums.vf --mesh x=2 --in 'a=[[1,2,3,4],[10,20,30,40]]' --check
r: f32[4] = [11.0, 22.0, 33.0, 44.0]
s: f32[4] = [11.0, 22.0, 33.0, 44.0]
m: f32[4] = [5.5, 11.0, 16.5, 22.0]
o: f32[4] = [11.0, 22.0, 33.0, 44.0]
check r: 4 elements, bit-equal
check s: 4 elements, bit-equal
check m: 4 elements, bit-equal
check o: 4 elements, bit-equal
$ viewfold dump --stage=shard sums.vf | sed 's/^# /- /'
- %r, operand 0: [-]+x to [-], all_reduce: asked for
- %s, operand 0: [-]+x to [x], reduce_scatter: asked for
mesh @m [x=2]
graph @g(%a: f32[2,4] @m[x,-]) {
  %0 = sum %a axes=[0] : f32[4] @m[-]+x
  %r = all_reduce %0 over=[] axes=[] : f32[4] @m[-]
  %s = reduce_scatter %0 over=[] axes=[0] : f32[4] @m[x]
  %o = all_reduce %0 over=[x] axes=[] : f32[4] @m[-]
  %m = div %o, 2.0 : f32[4] @m[-]
  return %r, %s, %m, %o
}

== axes come together, and to other dimensions: of all axes, of one, of a sub-axis; uneven parts
<<< moves.vf
mesh @m [x=2,y=4]
graph @g(%a: f32[7,10] @m[x,y]) {
  %b = all_gather %a axis=1
  %c = gather_all_axes %a
  %d = all_to_all %a split=0 concat=1
  %e = all_to_all %d split=1 concat=0 over=[y:(1)2]
  %f = all_to_all %a split=1 concat=1
  %h = reduce_scatter %b over=[y] axis=0
  return %b, %c, %d, %e, %f, %h
}
>>>
$ viewfold dump --stage=shard moves.vf | sed -n 's/^# /- /p'
- %b, operand 0: [x,y] to [x,-], all_gather: asked for
- %c, operand 0: [x,y] to [-,-], all_gather: asked for
- %d, operand 0: [x,y] to [x.y,-], all_to_all: asked for
- %e, operand 0: [x.y,-] to [x.y:(2)2,y:(1)2], all_to_all: asked for
- %h, operand 0: [x,-] to [x.y,-], slice: asked for
$ viewfold dump --stage=graph moves.vf > printed.vf; viewfold dump --stage=graph printed.vf | diff printed.vf -

== blocks of an axis: reduced, permuted, stacked, the first one everywhere
<<< blocks.vf
mesh @m [x=3]
graph @g(%a: i32[3] @m[x], %b: f32[6,3] @m[-,x]) {
  %r = all_reduce %a over=[x] axis=0
  %h = all_reduce %a over=[x] axis=0 reduce=max
  %p = ppermute %a over=[x] pairs=[[0,1],[1,2]]
  %i = axis_index over=[x]
  %f = distributed_broadcast %a over=[x] axis=0
  %s = all_to_all %b over=[x] split=0 concat=1 tiled=false
  return %r, %h, %p, %i, %f, %s
}
>>>
$ viewfold run blocks.vf --mesh x=3 --in 'a=[5,6,7]' --in 'b=[[0,1,2],[3,4,5],[6,7,8],[9,10,11],[12,13,14],[15,16,17]]' --check
r: i32[1] = [18]
h: i32[1] = [7]
p: i32[3] = [0, 5, 6]
i: i32[3] = [0, 1, 2]
f: i32[1] = [5]
s: f32[6,3,1] min 0.0 max 17.0 mean 8.5 first 0.0 1.0 2.0 3.0 4.0 5.0 ...
check r: 1 element, bit-equal
check h: 1 element, bit-equal
check p: 3 elements, bit-equal
check i: 3 elements, bit-equal
check f: 1 element, bit-equal
check s: 18 elements, bit-equal
$ viewfold dump --stage=spmd blocks.vf | grep permute
  %[..] = exchange [..] start=[[..]] at=[[..]] kind="permute" : i32[1,1]

== errors
<<< err
printf 'mesh @m [x=2,y=2]\ngraph @g(%%x: f32[4,6]) {\n  %%y = %s\n  return %%y\n}\n' "$1" > e.vf
viewfold dump --stage=graph e.vf
>>>
$ sh err 'all_gather %x'
! e.vf:3:3: error: all_gather: axis is missing; takes one, which comes together or is divided
? 2
$ sh err 'all_gather %x axis=2'
! e.vf:3:3: error: all_gather: axis 2 [..]
? 2
$ sh err 'all_reduce %x over=[-]'
! e.vf:3:3: error: all_reduce: over is [-]; takes axes of the mesh, the major first, such as [x] or [x.y]
? 2
$ sh err 'all_reduce %x over=[x,y]'
! e.vf:3:3: error: all_reduce: over is [x,y]; takes axes of the mesh, the major first, such as [x] or [x.y]
? 2
$ sh err 'all_reduce %x over=[z]'
! e.vf:3:28: error: no axis of the mesh, found 'z', expected one of x y
? 2
$ sh err 'all_reduce %x reduce=median axis=0 over=[x]'
! e.vf:3:3: error: all_reduce: attribute reduce is median; it is one of none sum mean max min prod any all
? 2
$ sh err 'all_reduce %x reduce=max'
! e.vf:3:3: error: all_reduce: reduce without an axis; `reduce` combines the blocks of one axis, and what is pending is carried out as it is
? 2
$ sh err 'ppermute %x over=[x.y] axis=1 pairs=[[0,1]]'
! e.vf:3:3: error: ppermute: size 6 of axis 1 does not divide by 4, the number of devices along [x.y]; x has shape f32[4,6]; blocks must be of equal size
? 2
$ sh err 'ppermute %x over=[x] pairs=[[0,1],[1,1]]'
! e.vf:3:3: error: ppermute: devices 0 and 1 both send to 1; each receives from one
? 2
$ sh err 'ppermute %x over=[x] pairs=[[0,2]]'
! e.vf:3:3: error: ppermute: pair 0 is [0,2]; takes numbers of devices, from 0 to 1
? 2
$ sh err 'all_to_all %x split=0'
! e.vf:3:3: error: all_to_all: takes split, the axis that is divided, and concat, the one that comes together
? 2
$ printf 'graph @g(%%x: f32[4]) {\n  %%y = pmean %%x\n  return %%y\n}\n' > none.vf; viewfold dump --stage=graph none.vf
! none.vf:2:3: error: pmean: the graph has no mesh; vf_graph_set_mesh gives it one, or in a text mesh @m [x=2,y=4]
? 2

== what several operands need alike moves once. spec: E5
<<< square.vf
mesh @m [x=2]
graph @g(%a: f32[8,6] @m[x,-]) {
  %s = sum %a axes=[0]
  %q = mul %s, %s
  %r = add %s, 1.0
  return %q, %r
}
>>>
$ viewfold explain --mesh square.vf | head -1
graph @g on mesh @m [x=2]: 1 collective; a device receives 24 bytes at most, all of them 48
$ viewfold dump --stage=spmd square.vf | grep -c exchange
1

== to a division or a device, which exclude each other. spec: C13
<<< transfer.vf
mesh @m [x=2] devices=["cpu","opencl:1"]
graph @g(%a: f32[4] @m[x]) {
  %b = transfer_to %a device="opencl:1"
  %c = transfer_to %b to=[x]
  return %b, %c
}
>>>
$ viewfold dump --stage=shard transfer.vf | sed 's/^# /- /'
- %b, operand 0: [x] to [-], all_gather: asked for
- %c, operand 0: [-] to [x], a view: asked for
mesh @m [x=2] devices=["cpu","opencl:1"]
graph @g(%a: f32[4] @m[x]) {
  %b = shard %a to=[-] : f32[4] @m[-]
  %c = shard %b to=[x] : f32[4] @m[x]
  return %b, %c
}
$ sed 's/to=.x./to=[x] device="cpu"/' transfer.vf > both.vf; viewfold dump --stage=graph both.vf
! both.vf:4:3: error: transfer_to: to and device exclude each other: a value is divided among the devices of the mesh, or on one of them
? 2
$ sed 's/"opencl:1"$/"opencl:2"/' transfer.vf > other.vf; viewfold dump --stage=graph other.vf
! other.vf:3:3: error: transfer_to: device is "opencl:2", which the mesh @m does not have
? 2
$ sed '/^mesh/d; s/ @m.x.//' transfer.vf > none.vf; viewfold dump --stage=graph none.vf
! none.vf:2:3: error: transfer_to: the graph has no mesh whose devices device could name; it is computed on the device of its context; a text declares a mesh, as in mesh @m [x=2,y=4]
? 2
