# Axes of weights: devices that get more, and less. spec: M9 V18 H4

== the text of a mesh, and the program of its devices, which are sizes
<<< w.vf
mesh @m [x=6:2,y=2]
graph @g(%h: f32[10,4] @m[x,-], %w: f32[4,6] @m[-,y]) {
  %s = matmul %h, %w
  %a = relu %s
  %t = permute %a order=[1,0]
  %m = reduce_max %a axes=[0]
  return %a, %t, %m
}
>>>
$ viewfold dump --stage=graph w.vf | tee again.vf | head -1; viewfold dump --stage=graph again.vf | diff again.vf -
mesh @m [x=3:1,y=2]
$ viewfold dump --stage=spmd w.vf | sed 's/^# /- /'
- mesh @m [x=3:1,y=2]
- %h: part [x,-] of f32[10,4]
- %w: part [-,y] of f32[4,6]
- result %a: part [x,y] of f32[10,6]
- result %t: part [y,x] of f32[6,10]
- result %m: part [y] of f32[6]
- x_before: the weight of the devices before along x
- x_weight: the weight along x
- part0 = (((x_weight*3)+(x_before//2))+(((x_before+x_weight)//2)*-1))
- y: the coordinate along y
- x: the coordinate along x
graph @g(%h: f32[part0=2..8,4], %w: f32[4,3]) {
  %0 = matmul %h, %w : f32[part0,3]
  %a = relu %0 : f32[part0,3]
  %t = permute %a order=[1,0] : f32[3,part0]
  %1 = max %a axes=[0] : f32[3]
  %2 = unsqueeze %1 axis=0 : f32[1,3]
  %3 = exchange %2 shape=[2,3] start=[0,(y=0..1*3)] at=[x=0..1,(y*3)] kind="all_reduce" : f32[2,3]
  %m = max %3 axes=[0] : f32[3]
  return %a, %t, %m
}
$ viewfold dump --stage=rank:0 w.vf | grep '^graph'; viewfold dump --stage=rank:3 w.vf | grep '^graph'
graph @g(%h: f32[8,4], %w: f32[4,3]) {
graph @g(%h: f32[2,4], %w: f32[4,3]) {

== results are those of one device, whatever the weights and however many compile
<<< rows.vf
graph @g(%x: i32[n=1..40,3], %w: i32[3,4]) {
  %a = mul %x, 2
  %s = sum %a axes=[0]
  %p = matmul %a, %w
  %c = cumsum %a axis=0
  %r = flip %c axes=[0]
  %m = reduce_max %p axes=[1]
  return %s, %p, %r, %m
}
>>>
$ for m in x=3:1 x=1:9 x=1:2:4 x=2:1,y=1:2; do for s in 'x=[x,-]' 'x=[-,x]'; do viewfold run rows.vf --in 'x=[[1,2,3],[4,5,6],[7,8,9],[10,11,12],[13,14,15]]' --in 'w=[[1,0,2,1],[0,1,-1,1],[1,1,0,0]]' --mesh $m --shard $s --check | grep -c bit-equal; done; done | sort | uniq -c | sed 's/^ *//'
8 4

== uneven parts are sizes: other weights over the same bounds compile nothing
<<< three.vf
mesh @m [x=3:1]
graph @g(%x: f32[16,16] @m[x,-], %w: f32[16,4]) {
  %y = matmul %x, %w
  %z = relu %y
  return %z
}
>>>
<<< data.vf
graph @rows() {
  %x = iota shape=[16,16] axis=1 dtype=f32
  %w = iota shape=[16,4] axis=0 dtype=f32
  return %x, %w
}
>>>
$ viewfold run data.vf --out x=x.npy --out w=w.npy
$ viewfold run three.vf --in x=x.npy --in w=w.npy --out z=z.npy
$ sed 's/x=3:1/x=1:3/' three.vf > other.vf; VIEWFOLD_COMPILE=0 viewfold run other.vf --in x=x.npy --in w=w.npy --check
z: f32[16,4] min 1240.0 max 1240.0 mean 1240 first 1240.0 1240.0 1240.0 1240.0 1240.0 1240.0 ...
check z: 64 elements, bit-equal

== redistributions know the shares
$ echo '{"id": 1, "mesh": "x=3:1,y2", "shape": [10, 6], "dtype": "f32", "from": "[x,y]", "to": "[y,x]"}' | viewfold reshard --json
{"id":1,"steps":[{"op":"all_to_all","axes":["x","y"],"to":"[y,x]","recv":76}],"recv":76,"total":148,"peak":196,"bound":76,"exact":true}

== the automatic choice knows the largest part
<<< auto.vf
mesh @m [x=3:1]
graph @layer(%h: f32[16,1024] @m[-,-], %w: f32[1024,4096], %v: f32[4096,1024]) {
  %s = matmul %h, %w
  %a = relu %s
  %p = matmul %a, %v : f32[16,1024] @m[-,-]
  return %p
}
>>>
$ viewfold explain --mesh --auto auto.vf | tail -1
graph @layer: predicted 1.746 ms, computing 1.739, moving 0.007554; the least; a device holds 25624576 bytes

== what is refused
<<< rows.vf
mesh @m [x=3:1]
graph @g(%x: f32[4] @m[x]) {
  %y = relu %x
  return %y
}
>>>
$ viewfold run rows.vf --in 'x=[1,-2,3,4]' --mesh x=6:2
y: f32[4] = [1.0, 0.0, 3.0, 4.0]
$ viewfold run rows.vf --in 'x=[1,-2,3,4]' --mesh x=2
! viewfold run: --mesh x=2: the text declares another one, mesh @m [x=3:1]
! Try 'viewfold run --help'.
? 2
$ viewfold run rows.vf --in 'x=[1,-2,3,4]' --mesh x=3:0
! viewfold run: --mesh x=3:0: mesh:1:1: error: axis x of a mesh: weights are at least 1; takes axes and their sizes, as in x=2,y=4
! Try 'viewfold run --help'.
? 2
<<< digit.vf
mesh @m [x=1:1:1:2]
graph @g(%x: f32[16] @m[x:(1)2]) {
  %y = relu %x
  return %y
}
>>>
$ viewfold run digit.vf
! digit.vf:2:25: error: no sub-axis of a mesh, found x:(1)2, expected x as a whole, since it has weights
? 2
