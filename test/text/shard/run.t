# Running on a mesh of devices, which are threads: viewfold run --mesh. spec: H4 H5.shard

== the results are those of one device
<<< mlp.vf
mesh @m [x=2, y=4]
graph @mlp(%h: f32[4,4] @m[x,-], %w: f32[4,8] @m[-,y], %v: f32[8,2] @m[y,-]) {
  %s = matmul %h, %w
  %a = relu %s
  %p = matmul %a, %v
  %q = shard %p to=[x,-]
  return %q
}
>>>
<<< in
--in h=[[1,2,3,4],[0,-1,2,0],[1,1,1,1],[5,-4,3,-2]] --in w=[[1,0,2,0,1,0,1,3],[0,1,0,2,1,0,1,0],[1,1,1,1,0,0,0,2],[2,0,1,0,1,0,0,0]] --in v=[[1,2],[3,4],[5,6],[7,8],[1,1],[2,2],[3,3],[-4,9]]
>>>
$ viewfold run mlp.vf $(cat in) > one; viewfold run mlp.vf $(cat in) --mesh x=2,y=4 --check | tee many
q: f32[4,2] = [[101.0, 251.0], [-1.0, 56.0], [40.0, 118.0], [-22.0, 266.0]]
check q: 8 elements, bit-equal
$ sed '$d' many | diff - one
$ viewfold run mlp.vf $(cat in) --mesh x=2,y=4 --time | tail -1 | grep -o '"devices".*'
"devices":8,"collectives":[{"op":"all_reduce","times":2,"recv":24,"total":192}],"recv":24,"total":192,"comm_ms":[..],"hidden_ms":[..]}

== specs on the command line, parts of different sizes, some of them empty
<<< rows.vf
graph @g(%x: f32[n=1..8,3]) {
  %a = mul %x, 2.0
  %s = sum %a axes=[0]
  %t = permute %a order=[1,0]
  return %s, %t
}
>>>
$ for m in x=2 x=4 x=2,y=2; do viewfold run rows.vf --in 'x=[[1,2,3],[4,5,6],[7,8,9],[10,11,12],[13,14,15]]' --mesh $m --shard 'x=[x,-]' --check; done
s: f32[3] = [70.0, 80.0, 90.0]
t: f32[3,5] = [[2.0, 8.0, 14.0, 20.0, 26.0], [4.0, 10.0, 16.0, 22.0, 28.0], [6.0, 12.0, 18.0, 24.0, 30.0]]
check s: 3 elements, bit-equal
check t: 15 elements, bit-equal
s: f32[3] = [70.0, 80.0, 90.0]
t: f32[3,5] = [[2.0, 8.0, 14.0, 20.0, 26.0], [4.0, 10.0, 16.0, 22.0, 28.0], [6.0, 12.0, 18.0, 24.0, 30.0]]
check s: 3 elements, bit-equal
check t: 15 elements, bit-equal
s: f32[3] = [70.0, 80.0, 90.0]
t: f32[3,5] = [[2.0, 8.0, 14.0, 20.0, 26.0], [4.0, 10.0, 16.0, 22.0, 28.0], [6.0, 12.0, 18.0, 24.0, 30.0]]
check s: 3 elements, bit-equal
check t: 15 elements, bit-equal

== a second mesh over the same local sizes compiles nothing
<<< two.vf
mesh @m [a=2]
graph @g(%x: f32[8,16] @m[a,-], %w: f32[16,4]) {
  %y = matmul %x, %w
  return %y
}
>>>
<<< four.vf
mesh @m [b=2,c=2]
graph @g(%x: f32[16,16] @m[b.c,-], %w: f32[16,4]) {
  %y = matmul %x, %w
  return %y
}
>>>
<<< data.vf
graph @rows() {
  %x = iota shape=[8,16] axis=0 dtype=f32
  %xx = iota shape=[16,16] axis=1 dtype=f32
  %w = iota shape=[16,4] axis=0 dtype=f32
  return %x, %xx, %w
}
>>>
$ viewfold run data.vf --out x=x.npy --out xx=xx.npy --out w=w.npy
$ viewfold run two.vf --in x=x.npy --in w=w.npy --out y=y.npy --mesh a=2
$ VIEWFOLD_COMPILE=0 viewfold run four.vf --in x=xx.npy --in w=w.npy --mesh b=2,c=2 --check
y: f32[16,4] min 1240.0 max 1240.0 mean 1240 first 1240.0 1240.0 1240.0 1240.0 1240.0 1240.0 ...
check y: 64 elements, bit-equal

== a device that fails ends the run
<<< at.vf
mesh @m [x=2]
graph @g(%x: f32[4] @m[-], %i: i32[4] @m[x]) {
  %a = gather %x, %i axis=0
  %y = shard %a to=[-]
  return %y
}
>>>
$ viewfold run at.vf --in 'x=[1,2,3,4]' --in 'i=[0,1,2,3]' --mesh x=2
y: f32[4] = [1.0, 2.0, 3.0, 4.0]
$ viewfold run at.vf --in 'x=[1,2,3,4]' --in 'i=[0,1,2,9]' --mesh x=2
! viewfold run: device 1 (x=1): graph @g: gather %x, %i axis=0: %i[3] is 9, but axis 0 of %x has 4 elements (at.vf:3); indices are -4 to 3, or any with mode="clip" or mode="fill". The results are unspecified[..]
? 2

== the message says who waited, in which exchange, and what line asked for it: device 1 gets its index late
<<< late.vf
mesh @m [x=2] latency=[0.2] bandwidth=[1e9]
graph @g(%x: f32[4] @m[-], %i: i32[4] @m[x]) {
  %j = ppermute %i over=[x] axis=0 pairs=[[0,1]]
  %a = gather %x, %j axis=0
  %y = shard %a to=[-]
  return %y
}
>>>
$ viewfold run late.vf --in 'x=[1,2,3,4]' --in 'i=[9,0,0,0]' --mesh x=2 --wire
! viewfold run: device 1 (x=1): graph @g: gather %x, %j axis=0: [..] is 9, but axis 0 of %x has 4 elements (late.vf:4); [..]. The results are unspecified; device 0 (x=0) waited for device 1 (x=1) in exchange 2 (all_gather for %y, late.vf:5)
? 2

== what is refused
<<< rows.vf
mesh @m [x=2]
graph @g(%x: f32[n=1..8,3]) {
  %s = sum %x axes=[0]
  return %s
}
>>>
$ viewfold run rows.vf --shard 'x=[x,-]' --in x=[[1,2,3]]
! viewfold run: --shard takes a mesh; for example: --mesh x=2,y=4
! Try 'viewfold run --help'.
? 2
$ viewfold run rows.vf --mesh x=2 --shard 'z=[x,-]' --in x=[[1,2,3]]
! viewfold run: --shard: @g has no value %z; it has %x, %s
! Try 'viewfold run --help'.
? 2
$ viewfold run rows.vf --mesh x=2 --shard 'x=[x]' --in x=[[1,2,3]]
! viewfold run: --shard x: the spec [x] is for 1 axis; the value is f32[n,3]; each of its axes has an axis of the mesh, or -
! Try 'viewfold run --help'.
? 2
$ viewfold run rows.vf --in x=[[1,2,3]] --mesh x=4
! viewfold run: --mesh x=4: the text declares another one, mesh @m [x=2]
! Try 'viewfold run --help'.
? 2

== a reference is changed where its parts lie. spec: V19
<<< cache.vf
mesh @m [x=2]
graph @step(%cache: ref f32[2,3,2] @m[x,-,-], %k: f32[2,2], %at: i64[]) {
  %p = address %cache
  %a = index_all
  %d = index_point %at
  %row = create_view %p, %a, %d
  %cache = assign %cache, %row, %k
  %s = sum %cache axes=[1]
  return %s
}
>>>
$ viewfold explain --mesh cache.vf
graph @step on mesh @m [x=2]: 0 collectives; a device receives 0 bytes at most, all of them 0
all devices on host [..]
$ viewfold dump --stage=spmd cache.vf | tail -8
  %7 = reshape %6 shape=[2,3,2] : i64[2,3,2]
  %8 = gather %7, %2 axis=1 mode=clip : i64[2,2]
  %9 = shrink %8 bounds=[[x,(x+1)],[0,2]] : i64[1,2]
  %10 = assign %cache, %9, %k : f32[1,3,2]
  %s = sum %10 axes=[1] : f32[1,2]
  %cache = %10 : f32[1,3,2]
  return %s
}
$ for m in '[x,-,-]' '[-,x,-]' '[-,-,x]' '[-,-,-]'; do sed "s/@m.x,-,-./@m$m/" cache.vf > other.vf; viewfold run other.vf --in cache=[[[1,2],[3,4],[5,6]],[[7,8],[9,10],[11,12]]] --in k=[[10,20],[30,40]] --in at=1 --mesh x=2 --check; done
s: f32[2,2] = [[16.0, 28.0], [48.0, 60.0]]
cache: f32[2,3,2] = [[[1.0, 2.0], [10.0, 20.0], [5.0, 6.0]], [[7.0, 8.0], [30.0, 40.0], [11.0, 12.0]]]
check s: 4 elements, bit-equal
check cache: 12 elements, bit-equal
s: f32[2,2] = [[16.0, 28.0], [48.0, 60.0]]
cache: f32[2,3,2] = [[[1.0, 2.0], [10.0, 20.0], [5.0, 6.0]], [[7.0, 8.0], [30.0, 40.0], [11.0, 12.0]]]
check s: 4 elements, bit-equal
check cache: 12 elements, bit-equal
s: f32[2,2] = [[16.0, 28.0], [48.0, 60.0]]
cache: f32[2,3,2] = [[[1.0, 2.0], [10.0, 20.0], [5.0, 6.0]], [[7.0, 8.0], [30.0, 40.0], [11.0, 12.0]]]
check s: 4 elements, bit-equal
check cache: 12 elements, bit-equal
s: f32[2,2] = [[16.0, 28.0], [48.0, 60.0]]
cache: f32[2,3,2] = [[[1.0, 2.0], [10.0, 20.0], [5.0, 6.0]], [[7.0, 8.0], [30.0, 40.0], [11.0, 12.0]]]
check s: 4 elements, bit-equal
check cache: 12 elements, bit-equal

== elements of a divided axis are selected, not added up: -0 stays -0, also behind views. spec: E6
<<< select.vf
mesh @m [x=3]
graph @rows(%w: f32[5,2] @m[x,-], %at: i64[1]) {
  %r = gather %w, %at axis=0 mode=clip
  %t = permute %r order=[1,0]
  return %t
}
>>>
$ for t in f32 f16 bf16 f64; do sed s/f32/$t/ select.vf > other.vf; viewfold run other.vf --in w=[[-0.0,1],[2,-0.0],[-0.0,-0.0],[3,-0.0],[-0.0,4]] --in at=[4] --mesh x=3 --check; done
t: f32[2,1] = [[-0.0], [4.0]]
check t: 2 elements, bit-equal
t: f16[2,1] = [[-0.0], [4.0]]
check t: 2 elements, bit-equal
t: bf16[2,1] = [[-0.0], [4.0]]
check t: 2 elements, bit-equal
t: f64[2,1] = [[-0.0], [4.0]]
check t: 2 elements, bit-equal

== constants of which parts differ in size, or are empty. spec: E6
<<< parts.vf
mesh @m [x=4]
graph @parts(%a: f32[2,5]) {
  %b = data shape=[5,3] dtype=f32 values=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]
  %c = shard %b to=SPEC
  %y = matmul %a, %c
  return %y
}
>>>
$ for s in '[x,-]' '[-,x]'; do sed "s/SPEC/$s/" parts.vf > other.vf; viewfold run other.vf --in a=[[1,2,3,4,5],[0,1,0,1,0]] --mesh x=4 --check; done
y: f32[2,3] = [[135.0, 150.0, 165.0], [14.0, 16.0, 18.0]]
check y: 6 elements, bit-equal
y: f32[2,3] = [[135.0, 150.0, 165.0], [14.0, 16.0, 18.0]]
check y: 6 elements, bit-equal
