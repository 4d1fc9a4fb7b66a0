# Specs of all values from those of some. spec: P20 P21 P22 P23 P24 P26 P27 P28 P29 P30 P31 P33 PS6 V24.shard

<<< p.sh
# the specs of parameters and values of the graph in $1, of which each ';' ends a line
printf 'mesh @m [x=2,y=4]\n%s\n' "$1" | tr ';' '\n' > p.vf
viewfold dump --stage=shard p.vf |
  sed -n 's/^graph @[a-z]*(\(.*\)) {$/\1/p; s/^  \(%[a-z0-9]*\) = .* : \(.*\)$/\1: \2/p'
>>>

== elementwise: a closed dimension divides an open one, and what lacks a spec is open
$ sh p.sh 'graph @g(%a: f32[8] @m[x], %b: f32[8] @m[?]) {; %y = add %a, %b; return %y; }'
%a: f32[8] @m[x], %b: f32[8] @m[x]
%y: f32[8] @m[x]
$ sh p.sh 'graph @g(%a: f32[8], %b: f32[8] @m[x]) {; %c = exp %a; %y = add %c, %b; return %y; }'
%a: f32[8] @m[x], %b: f32[8] @m[x]
%0: f32[8] @m[x]
%y: f32[8] @m[x]

== the stronger priority divides
$ sh p.sh 'graph @g(%a: f32[8] @m[x p1], %b: f32[8] @m[y]) {; %y = add %a, %b; return %y; }'
%a: f32[8] @m[x p1], %b: f32[8] @m[y]
%y: f32[8] @m[y]

== contractions
$ sh p.sh 'graph @g(%a: f32[8,8] @m[x,?], %b: f32[8,8] @m[?,?]) {; %y = matmul %a, %b; return %y; }'
%a: f32[8,8] @m[x,?], %b: f32[8,8] @m[?,?]
%y: f32[8,8] @m[x,-]
$ sh p.sh 'graph @g(%a: f32[8,8] @m[?,?], %b: f32[8,8] @m[?,x]) {; %y = matmul %a, %b; return %y; }'
%a: f32[8,8] @m[?,?], %b: f32[8,8] @m[?,x]
%y: f32[8,8] @m[-,x]
$ sh p.sh 'graph @g(%a: f32[8,8] @m[?,x], %b: f32[8,8] @m[?,?]) {; %y = matmul %a, %b; return %y; }'
%a: f32[8,8] @m[?,x], %b: f32[8,8] @m[x,-]
%y: f32[8,8] @m[-,-]+x

== backwards
$ sh p.sh 'graph @g(%a: f32[8,8], %b: f32[8,8]) {; %p = matmul %a, %b; %y = shard %p to=[x,y]; return %y; }'
%a: f32[8,8] @m[x,-], %b: f32[8,8] @m[-,y]
%0: f32[8,8] @m[x,y]
%y: f32[8,8] @m[x,y]

== permuted, reduced
$ sh p.sh 'graph @g(%a: f32[8,8,8] @m[x,y,?]) {; %y = permute %a order=[2,0,1]; return %y; }'
%a: f32[8,8,8] @m[x,y,?]
%y: f32[8,8,8] @m[-,x,y]
$ sh p.sh 'graph @g(%a: f32[8,8] @m[x,?]) {; %y = sum %a axes=[0]; return %y; }'
%a: f32[8,8] @m[x,?]
%y: f32[8] @m[-]+x

== several axes of one dimension; digits of an axis
$ sh p.sh 'graph @g(%a: f32[8] @m[x.y], %b: f32[8] @m[x?]) {; %y = add %a, %b; return %y; }'
%a: f32[8] @m[x.y], %b: f32[8] @m[x.y]
%y: f32[8] @m[x.y]
$ sh p.sh 'graph @g(%a: f32[8,32] @m[y,-]) {; %y = reshape %a shape=[2,4,32]; return %y; }'
%a: f32[8,32] @m[y,-]
%y: f32[2,4,32] @m[y:(1)2,y:(2)2,-]

== axes that move, and windows
$ sh p.sh 'graph @g(%a: f32[16,8] @m[y,-]) {; %p = pad %a pads=[[2,2],[0,0]]; %f = flip %p axes=[0]; %y = exp %f; return %y; }'
%a: f32[16,8] @m[y,-]
%0: f32[20,8] @m[y,-]
%1: f32[20,8] @m[y,-]
%y: f32[20,8] @m[y,-]
$ sh p.sh 'graph @g(%a: f32[2,4,16] @m[-,-,y]) {; %y = max_pool %a kernel=2; return %y; }' | tail -1
%y: f32[2,4,8] @m[-,-,y]

== a contradiction is settled by bytes, and said
<<< two.vf
mesh @m [x=2,y=4]
graph @g(%a: f32[64,8] @m[-,x], %b: f32[8] @m[y]) {
  %y = add %a, %b
  return %y
}
>>>
$ viewfold explain --mesh two.vf
graph @g on mesh @m [x=2,y=4]: 1 collective; a device receives 16 bytes at most, all of them 96
all devices on host [..]
latency and bandwidth are not known: 1 us and 10 GB/s are assumed
\
expand: [-,y] to [-,x]: a part reads elements of other parts
  exchange y to [-,x]                         receives 16, all 96, peak 24, 1 us
  next best: [-,x] to [-,x], 2 us in place of 3.1 us
\
%y: factor d1 takes x before factor d1 y of expand, priority 0, 32 bytes

== an axis that two factors want; a closed value that is whole; two sums are one
$ sh p.sh 'graph @g(%a: f32[8,8] @m[x,-], %b: f32[8,8] @m[x,-]) {; %y = matmul %a, %b; return %y; }'
%a: f32[8,8] @m[x,-], %b: f32[8,8] @m[x,-]
%y: f32[8,8] @m[x,-]
$ sh p.sh 'graph @g(%a: f32[8] @m[x], %b: f32[8] @m[-]) {; %y = add %a, %b; return %y; }'
%a: f32[8] @m[x], %b: f32[8] @m[-]
%y: f32[8] @m[x]
<<< sums.vf
mesh @m [x=4]
graph @g(%a: f32[16,32] @m[-,x], %b: f32[32,16], %c: f32[16,32] @m[-,x], %d: f32[32,16]) {
  %p = matmul %a, %b
  %q = matmul %c, %d
  %y = add %p, %q
  %z = shard %y to=[x,-]
  return %z
}
>>>
$ viewfold explain --mesh sums.vf | grep receives
graph @g on mesh @m [x=4]: 1 collective; a device receives 768 bytes at most, all of them 3072
  reduce_scatter x to [x,-]                   receives 768, all 3072, peak 2048, 3.08 us

== a sum that several operations scale, or that several views show, is joined once, and expanded ones before
<<< scaled.vf
mesh @m [x=4]
graph @g(%a: f32[16,32] @m[-,x], %b: f32[32,16], %m: f32[16,16]) {
  %s = matmul %a, %b
  %p = mul %s, 0.1
  %q = mul %s, 0.01
  %u = add %m, %p
  %v = mul %q, %s
  return %u, %v
}
>>>
$ viewfold explain --mesh scaled.vf | grep receives
graph @g on mesh @m [x=4]: 1 collective; a device receives 1536 bytes at most, all of them 6144
  all_reduce x to [-,-]                       receives 1536, all 6144, peak 2048, 6.15 us
<<< shown.vf
mesh @m [x=4]
graph @g(%a: f32[16,32] @m[-,x], %b: f32[16,32] @m[-,x]) {
  %s = sum %a axes=[1]
  %r = reshape %s shape=[16,1]
  %e = expand %r shape=[16,16]
  %t = sum %b axes=[1]
  %f = expand %t shape=[16,16]
  %p = add %e, %f
  %y = tanh %p
  %z = mul %r, %r
  return %y, %z
}
>>>
$ viewfold explain --mesh shown.vf | grep receives
graph @g on mesh @m [x=4]: 2 collectives; a device receives 192 bytes at most, all of them 768
  all_reduce x to [-]                         receives 96, all 384, peak 128, 6.01 us
  all_reduce x to [-]                         receives 96, all 384, peak 128, 6.01 us

== halos and padding move what is read, no more
<<< halo.vf
mesh @m [x=4]
graph @g(%a: f32[2,3,32,32] @m[-,-,x,-], %w: f32[8,3,3,3]) {
  %y = conv %a, %w padding=[[1,1],[1,1]]
  return %y
}
>>>
$ viewfold explain --mesh halo.vf | grep exchange
  exchange x to [-,-,-,-,x,-,-,-]             receives 1536, all 4608, peak 13824, 1.15 us
