# What a device receives at most, of operations along an axis that is divided: what its part reads of others, and
# no more. Parts of 16 rows of 8 f32 are 512 bytes.

<<< got.sh
# the operation, and the most bytes that one of four devices receives, of each line; ';' ends a line of the graph
while read -r line; do
  printf 'mesh @m [x=4]\ngraph @g(%%a: f32[64,8] @m[x,-], %%b: f32[64,8] @m[x,-], %%u: f32[7,8], %%i: i32[5], %%v: f32[5,8], %%j: i32[5,8], %%c: f32[1,2,64] @m[-,-,x], %%k: f32[2,2,3], %%q: f32[2,64,8], %%r: f32[2,64,8] @m[-,x,-], %%s: u64[], %%e: f32[4096] @m[x], %%n: i32[64,8] @m[x,-], %%h: f32[1,2,64,64] @m[-,-,x,-], %%l: f32[2,2,3,3]) {\n%s\nreturn %%y\n}\n' "$(echo "$line" | tr ';' '\n')" > got.vf
  printf '%s: %s\n' "$line" "$(viewfold explain --mesh got.vf | sed -n '1s/.* receives \([0-9]*\) bytes.*/\1/p')"
done
>>>

== views: shifts, halos, and what is reversed
<<< views
%y = reshape %a shape=[8,64]
%y = reshape %a shape=[512]
%y = reshape %a shape=[128,4]
%y = reshape %a shape=[4,16,8]
%y = slice %a bounds=[[3,64],[0,8]]
%y = slice %a bounds=[[0,32],[0,8]]
%y = stride %a steps=[2,1]
%y = stride %a steps=[3,1]
%y = stride %a steps=[-3,1]
%y = pad %a pads=[[2,2],[0,0]]
%y = pad %a pads=[[2,2],[0,0]] mode=reflect
%y = pad %a pads=[[2,2],[0,0]] mode=edge
%y = pad %a pads=[[2,2],[0,0]] mode=wrap
%p = shrink %a bounds=[[63,64],[0,8]]; %t = shrink %a bounds=[[0,63],[0,8]]; %y = concat %p, %t axis=0
%p = shrink %a bounds=[[1,64],[0,8]]; %t = shrink %a bounds=[[0,63],[0,8]]; %y = sub %p, %t
%y = concat %a, %b axis=0
%y = stack %a, %b axis=0
%y, %z = split %a axis=0 parts=2
%y, %z = chunk %a axis=0 chunks=2
%y = flip %a axes=[0]
%y = slice_update %a, %u start=[5,0]
%y = slice_update %a, %u start=[14,0]
%y = conv %c, %k padding=1
%y = conv %c, %k padding=2 dilation=2
%y = conv %c, %k stride=2 padding=1
%y = conv %h, %l padding=1
%y = conv_transpose %c, %k stride=2
%y = max_pool %c kernel=3 stride=1 padding=1
%y = max_pool %c kernel=2 stride=2
%y = avg_pool %c kernel=3 stride=1 padding=1
%y = avg_pool %h kernel=3 stride=2 padding=1
>>>
$ sh got.sh < views
%y = reshape %a shape=[8,64]: 0
%y = reshape %a shape=[512]: 0
%y = reshape %a shape=[128,4]: 0
%y = reshape %a shape=[4,16,8]: 0
%y = slice %a bounds=[[3,64],[0,8]]: 96
%y = slice %a bounds=[[0,32],[0,8]]: 256
%y = stride %a steps=[2,1]: 0
%y = stride %a steps=[3,1]: 64
%y = stride %a steps=[-3,1]: 192
%y = pad %a pads=[[2,2],[0,0]]: 32
%y = pad %a pads=[[2,2],[0,0]] mode=reflect: 32
%y = pad %a pads=[[2,2],[0,0]] mode=edge: 32
%y = pad %a pads=[[2,2],[0,0]] mode=wrap: 64
%p = shrink %a bounds=[[63,64],[0,8]]; %t = shrink %a bounds=[[0,63],[0,8]]; %y = concat %p, %t axis=0: 32
%p = shrink %a bounds=[[1,64],[0,8]]; %t = shrink %a bounds=[[0,63],[0,8]]; %y = sub %p, %t: 32
%y = concat %a, %b axis=0: 1024
%y = stack %a, %b axis=0: 0
%y, %z = split %a axis=0 parts=2: 256
%y, %z = chunk %a axis=0 chunks=2: 256
%y = flip %a axes=[0]: 512
%y = slice_update %a, %u start=[5,0]: 0
%y = slice_update %a, %u start=[14,0]: 0
%y = conv %c, %k padding=1: 16
%y = conv %c, %k padding=2 dilation=2: 32
%y = conv %c, %k stride=2 padding=1: 8
%y = conv %h, %l padding=1: 1024
%y = conv_transpose %c, %k stride=2: 64
%y = max_pool %c kernel=3 stride=1 padding=1: 16
%y = max_pool %c kernel=2 stride=2: 0
%y = avg_pool %c kernel=3 stride=1 padding=1: 16
%y = avg_pool %h kernel=3 stride=2 padding=1: 512

== in the order of the axis: totals, candidates, pairs; a sorted axis is divided otherwise, and of the first ones of 4,096 only as many of each part are received
<<< ordered
%y = cumsum %a axis=0
%y = cumsum %a axis=0 reverse=true
%y = cumsum %e axis=0 exclusive=true
%y = cumsum %e axis=0 exclusive=true reverse=true
%y = cumprod %a axis=0
%y = cumprod %e axis=0 reverse=true
%y = cummax %a axis=0
%y = cummax %e axis=0 reverse=true
%y = cummin %e axis=0
%y = sort %a axis=0
%y = argsort %a axis=0
%y, %z = topk %e k=3 axis=0
%z, %y = topk %e k=3 axis=0
%y = argmax %e axis=0
%y = argmin %a axis=0
>>>
$ sh got.sh < ordered
%y = cumsum %a axis=0: 96
%y = cumsum %a axis=0 reverse=true: 96
%y = cumsum %e axis=0 exclusive=true: 16
%y = cumsum %e axis=0 exclusive=true reverse=true: 16
%y = cumprod %a axis=0: 96
%y = cumprod %e axis=0 reverse=true: 12
%y = cummax %a axis=0: 96
%y = cummax %e axis=0 reverse=true: 12
%y = cummin %e axis=0: 12
%y = sort %a axis=0: 384
%y = argsort %a axis=0: 384
%y, %z = topk %e k=3 axis=0: 36
%z, %y = topk %e k=3 axis=0: 108
%y = argmax %e axis=0: 36
%y = argmin %a axis=0: 120

== positions, by their owners
<<< indirect
%y = gather %a, %i axis=0
%y = scatter %a, %i, %v axis=0
%y = scatter_add %a, %i, %v axis=0
%y = take_along_axis %a, %j axis=0
%y = scatter_add_along_axis %a, %j, %v axis=0
>>>
$ sh got.sh < indirect
%y = gather %a, %i axis=0: 240
%y = scatter %a, %i, %v axis=0: 0
%y = scatter_add %a, %i, %v axis=0: 0
%y = take_along_axis %a, %j axis=0: 240
%y = scatter_add_along_axis %a, %j, %v axis=0: 0

== sums of parts, and random numbers, which need nothing
<<< sums
%y = softmax %a axis=0
%y = log_softmax %a axis=0
%y = logsumexp %e axes=[0]
%y = layer_norm %a axis=0
%y = rms_norm %a axis=0
%y = mean %a axes=[0]
%y = var %a axes=[0]
%y = std %a axes=[0]
%y = max %a axes=[0]
%y = prod %a axes=[0]
%y = attention %q, %r, %r
%y = attention %r, %q, %q
%y = uniform %s shape=[64,8]
%y = normal %s shape=[64,8]
>>>
$ sh got.sh < sums
%y = softmax %a axis=0: 96
%y = log_softmax %a axis=0: 96
%y = logsumexp %e axes=[0]: 20
%y = layer_norm %a axis=0: 24
%y = rms_norm %a axis=0: 12
%y = mean %a axes=[0]: 48
%y = var %a axes=[0]: 96
%y = std %a axes=[0]: 96
%y = max %a axes=[0]: 48
%y = prod %a axes=[0]: 48
%y = attention %q, %r, %r: 7680
%y = attention %r, %q, %q: 0
%y = uniform %s shape=[64,8]: 0
%y = normal %s shape=[64,8]: 0

== the first ones of each part are sorted again: equal ones in their order
<<< first.vf
graph @g(%e: f32[96], %a: f32[2,64,2]) {
  %y, %z = topk %e k=3 axis=0
  %u, %v = topk %a k=2 axis=1 largest=false
  return %y, %z, %u, %v
}
>>>
$ seq 0 95 | awk '{s = s (NR > 1 ? "," : "") $1 % 7} END {print "[" s "]"}' > e; seq 0 127 | awk '{s = s ($1 % 64 ? "," : "[") "[" $1 * 5 % 11 "," $1 * 7 % 11 "]"; if ($1 == 63) s = s "],"} END {print "[" s "]]"}' > a
$ viewfold run first.vf --mesh x=4 --shard 'e=[x]' --shard 'a=[-,x,-]' --in "e=$(cat e)" --in "a=$(cat a)" --check
y: f32[3] = [6.0, 6.0, 6.0]
z: i64[3] = [6, 13, 20]
u: f32[2,2,2] = [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]
v: i64[2,2,2] = [[[0, 0], [11, 11]], [[2, 2], [13, 13]]]
check y: 3 elements, bit-equal
check z: 3 elements, bit-equal
check u: 8 elements, bit-equal
check v: 8 elements, bit-equal

== reversed arrays are accumulated from the other end; parts of 4, 4 and 2 rows, and one without any
<<< reversed.vf
graph @g(%n: i32[10]) {
  %y = cumsum %n axis=0 reverse=true exclusive=true
  %z = cummax %n axis=0 reverse=true
  %f = flip %n axes=[0]
  %u = cumprod %f axis=0
  return %y, %z, %u
}
>>>
$ viewfold run reversed.vf --mesh x=3 --shard 'n=[x]' --in n=[1,2,-1,3,1,0,4,-2,1,1] --check
y: i32[10] = [9, 7, 8, 5, 4, 4, 0, 2, 1, 0]
z: i32[10] = [4, 4, 4, 4, 4, 4, 4, 1, 1, 1]
u: i32[10] = [1, 1, -2, -8, 0, 0, 0, 0, 0, 0]
check y: 10 elements, bit-equal
check z: 10 elements, bit-equal
check u: 10 elements, bit-equal
$ viewfold run reversed.vf --mesh x=8 --shard 'n=[x]' --in n=[1,2,-1,3,1,0,4,-2,1,1] --check | tail -3
check y: 10 elements, bit-equal
check z: 10 elements, bit-equal
check u: 10 elements, bit-equal
