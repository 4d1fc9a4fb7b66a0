# What moves between devices: explain --mesh. spec: W2

== every collective, under what asks for it
<<< mlp.vf
mesh @m [x=2, y=4]
graph @mlp(%h: f32[16,32] @m[x,-], %w: f32[32,128] @m[-,y], %v: f32[128,32] @m[y,-]) {
  %s = matmul %h, %w
  %a = relu %s
  %p = matmul %a, %v
  %q = shard %p to=[x,-]
  return %q
}
>>>
$ viewfold explain --mesh mlp.vf
graph @mlp on mesh @m [x=2,y=4]: 1 collective; a device receives 1536 bytes at most, all of them 12288
all devices on host [..]
latency and bandwidth are not known: 1 us and 10 GB/s are assumed
\
%q, operand 0: [x,-]+y to [x,-]: asked for
  all_reduce y to [x,-]                       receives 1536, all 12288, peak 2048, 6.15 us

== where the mesh gives latency and bandwidth, steps take least time
<<< uneven.vf
mesh @m [x=2, y=4] latency=[1e-6,1e-6] bandwidth=[1e9,1e10]
graph @g(%h: f32[1000,701] @m[x,y], %w: f32[701,90]) {
  %s = matmul %h, %w
  %a = exp %s
  %c = cumsum %a axis=0
  %t = shard %h to=[-,x]
  return %c, %t
}
>>>
$ viewfold explain --mesh uneven.vf
graph @g on mesh @m [x=2,y=4] latency=[1e-06,1e-06] bandwidth=[1000000000.0,10000000000.0]: 7 collectives; a device receives 1682360 bytes at most, all of them 12687440
all devices on host [..]
\
%a, operand 0: [x,-]+y to [x,-]: the operation does not commute with the pending reduction
  reduce_scatter y to [x.y,-]                 receives 135000, all 1080000, peak 360000, 16.5 us
  all_gather y:(2)2 to [x.y:(1)2,-]           receives 45000, all 360000, peak 135000, 5.5 us
  all_gather y:(1)2 to [x,-]                  receives 90000, all 720000, peak 270000, 10 us
  next best: [x.y,-] to [x.y,-], 38 us in place of 56 us
\
%c: [x,-] to [x,-]: totals of the parts are combined
  exchange x to [x,-]                         receives 360, all 1440, peak 720, 1.36 us
  next best: [x,y] to [x,y], 24 us in place of 25.4 us
\
%t, operand 0: [x,y] to [-,x]: asked for
  all_to_all x,y to [-,x.y:(2)2.y:(1)2]       receives 352000, all 2106000, peak 704000, 196 us
  all_gather y:(1)2 to [-,x.y:(2)2]           receives 352000, all 2804000, peak 1056000, 36.2 us
  all_gather y:(2)2 to [-,x]                  receives 708000, all 5616000, peak 2108000, 76.4 us

== no mesh
$ printf 'graph @g(%%x: f32[4]) {\n  return %%x\n}\n' > none.vf; viewfold explain --mesh none.vf
! viewfold explain: graph @g has no mesh; a text declares one, as in mesh @m [x=2,y=4]
? 2
