# The specification's rows of rules, of propagation and of what happens to an operation on a mesh, as far as they
# show in specs, collectives and results.

<<< p.sh
# the specs of parameters and values, and what moves, of the graph in $2 on the mesh $1, of which each ';' ends a line
printf 'mesh @m [%s]\n%s\n' "$1" "$2" | tr ';' '\n' > p.vf
viewfold dump --stage=shard p.vf |
  sed -n 's/^# /- /p; s/^graph @[a-z]*(\(.*\)) {$/\1/p; s/^  \(%[a-z0-9]*\) = \([a-z]*\) .* : \(.*\)$/\1 \2: \3/p'
>>>
<<< same.sh
# results of the graph $1, whose parameter %a has the spec $2, on meshes: they equal those of one device bit for bit
file=$1 spec=$2
shift 2
viewfold run "$file" "$@" > one
for m in x=2,y=4 x=3,y=1 x=1,y=8; do viewfold run "$file" "$@" --mesh $m --shard "a=$spec" | diff - one; done
cat one
>>>

== an operation of three operands divides them alike. spec: R13
$ sh p.sh x=2,y=4 'graph @g(%c: bool[8,4] @m[x,-], %a: f32[8,4] @m[?,?], %b: f32[4] @m[y]) {; %y = where %c, %a, %b; return %y; }'
- %y, operand 0: [x,-] to [x,y], a view: other operands or the result are divided like that
%c: bool[8,4] @m[x,-], %a: f32[8,4] @m[x,y], %b: f32[4] @m[y]
%0 reshape: f32[1,4] @m[-,y]
%1 expand: f32[8,4] @m[x,y]
%y where: f32[8,4] @m[x,y]

== products of all pairs have the axes of both. spec: R11
$ sh p.sh x=2,y=4 'graph @g(%a: f32[4] @m[y], %b: f32[6] @m[x]) {; %y = einsum %a, %b equation="i,j->ij"; return %y; }' | tail -1
%y mul: f32[4,6] @m[y,x]

== a batch, and a repeated axis. spec: R24 R25
$ sh p.sh x=2,y=4 'graph @g(%a: f32[8,1] @m[y,-]) {; %y = broadcast_to %a shape=[8,8]; return %y; }'
%a: f32[8,1] @m[y,-]
%y expand: f32[8,8] @m[y,-]
$ sh p.sh x=2,y=4 'graph @g(%a: f32[8] @m[x]) {; %y = broadcast_to %a shape=[4,8]; return %y; }' | tail -1
%y expand: f32[4,8] @m[-,x]

== a scatter divides what it does not index, and the axis that it does by the owner of each position. spec: R29
$ sh p.sh x=2,y=4 'graph @g(%a: f32[2,3,4] @m[x,-,y], %i: i32[5], %u: f32[2,5,4]) {; %y = scatter %a, %i, %u axis=1; return %y; }'
%a: f32[2,3,4] @m[x,-,y], %i: i32[5] @m[-], %u: f32[2,5,4] @m[x,-,y]
%y scatter: f32[2,3,4] @m[x,-,y]
$ sh p.sh x=2,y=4 'graph @g(%a: f32[2,3,4] @m[-,x,-], %i: i32[5], %u: f32[2,5,4]) {; %y = scatter %a, %i, %u axis=1; return %y; }'
%a: f32[2,3,4] @m[-,x,-], %i: i32[5] @m[-], %u: f32[2,5,4] @m[-,-,-]
%y scatter: f32[2,3,4] @m[-,x,-]

== split, chunk and unbind: the other axes stay, and each part receives what it has of the axis that is cut. spec: R9 R10 R30 R31 E8 E9
<<< cut.vf
graph @g(%a: f32[4,7]) {
  %p, %q, %r = chunk %a axis=-1 chunks=3
  %s, %t = split %a axis=0 parts=2
  %u, %v, %w, %z = unbind %a axis=-2
  return %p, %q, %r, %s, %t, %u, %v, %w, %z
}
>>>
$ (echo 'mesh @m [x=2,y=4]'; sed 's/4,7./& @m[y,x]/' cut.vf) > divided.vf
$ viewfold dump --stage=shard divided.vf | sed -n 's/^# .*, \(.*:\).*/\1/p; s/^  \(%[a-z]\) = [a-z]* .* : \(.*\)$/\1: \2/p'
exchange:
exchange:
exchange:
exchange:
exchange:
exchange:
exchange:
exchange:
exchange:
%p: f32[4,3] @m[y,x]
%q: f32[4,2] @m[y,x]
%r: f32[4,2] @m[y,x]
%s: f32[2,7] @m[y,x]
%t: f32[2,7] @m[y,x]
%u: f32[7] @m[x]
%v: f32[7] @m[x]
%w: f32[7] @m[x]
%z: f32[7] @m[x]
$ sh same.sh cut.vf '[y,x]' --in 'a=[[0,1,2,3,4,5,6],[7,8,9,10,11,12,13],[14,15,16,17,18,19,20],[21,22,23,24,25,26,27]]'
p: f32[4,3] = [[0.0, 1.0, 2.0], [7.0, 8.0, 9.0], [14.0, 15.0, 16.0], [21.0, 22.0, 23.0]]
q: f32[4,2] = [[3.0, 4.0], [10.0, 11.0], [17.0, 18.0], [24.0, 25.0]]
r: f32[4,2] = [[5.0, 6.0], [12.0, 13.0], [19.0, 20.0], [26.0, 27.0]]
s: f32[2,7] = [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0]]
t: f32[2,7] = [[14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0], [21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0]]
u: f32[7] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
v: f32[7] = [7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0]
w: f32[7] = [14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0]
z: f32[7] = [21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0]

== sizes of factors follow from the sizes that are known; an axis of the mesh is cut where a factor is smaller. spec: R3 P2
$ sh p.sh x=8 'graph @g(%a: f32[16,32] @m[x,-]) {; %y = reshape %a shape=[2,8,32]; return %y; }' | tail -1
%y reshape: f32[2,8,32] @m[x:(1)2,x:(2)4,-]
$ sh p.sh x=2,y=4 'graph @g(%a: f32[8] @m[x.y]) {; %y = reshape %a shape=[2,4]; return %y; }' | tail -1
%y reshape: f32[2,4] @m[x,y]

== shard and reshard are one operation. spec: C2
$ for op in shard reshard; do sh p.sh x=2,y=4 "graph @g(%a: f32[8] @m[x.y]) {; %y = $op %a to=[y]; return %y; }"; done
- %y, operand 0: [x.y] to [y], exchange: asked for
%a: f32[8] @m[x.y]
%y shard: f32[8] @m[y]
- %y, operand 0: [x.y] to [y], exchange: asked for
%a: f32[8] @m[x.y]
%y shard: f32[8] @m[y]

== a mesh that names no devices is run by threads of one process, whose results are those of one device. spec: C14 E7
<<< product.vf
graph @g(%a: f32[5,3], %b: f32[3,2]) {
  %p = matmul %a, %b
  %y = relu %p
  return %y
}
>>>
$ sh same.sh product.vf '[x,y]' --in a=[[1,2,3],[4,5,6],[7,8,9],[-1,-2,-3],[0,1,0]] --in b=[[1,2],[3,4],[5,6]]
y: f32[5,2] = [[22.0, 28.0], [49.0, 64.0], [76.0, 100.0], [0.0, 0.0], [3.0, 4.0]]

== what is not valid without a mesh is not valid on one, and is said before anything is divided. spec: E1 E12
$ sh p.sh x=2,y=4 'graph @g(%a: f32[4,4] @m[x,-], %b: f32[5] @m[-]) {; %y = add %a, %b; return %y; }'
! p.vf:3:2: error: add: shapes f32[4,4] and f32[5] do not broadcast: size 4 meets 5 at axis -1; sizes must be equal or 1
$ sh p.sh x=2,y=4 'graph @g(%a: f32[4,4] @m[x]) {; %y = exp %a; return %y; }'
! p.vf:2:23: error: wrong spec, found 1 dimension, expected the 2 of the value: an entry for each axis, - where it is whole, as in @m[x,-]
$ sh p.sh x=2,y=4 'graph @g(%a: f32[4,4] @m[x,-]) {; %y = exp %a : f32[4,5] @m[x,-]; return %y; }'
! p.vf:3:16: error: wrong type of '%y', found f32[4,5], expected f32[4,4]

== one operand that is divided is enough for the others to take part. spec: E2
$ sh p.sh x=2 'graph @g(%a: f32[8], %b: f32[8], %c: f32[8] @m[x]) {; %p = mul %a, %b; %y = add %p, %c; return %y; }'
%a: f32[8] @m[x], %b: f32[8] @m[x], %c: f32[8] @m[x]
%0 mul: f32[8] @m[x]
%y add: f32[8] @m[x]

== programs differ by mesh, axes and what is pending; kernels by the sizes of parts alone. spec: E6
<<< key.sh
# the names of the kernels of the graph in $1
printf 'mesh @m [x=2,y=2]\n%s\n' "$1" | tr ';' '\n' > k.vf
viewfold dump --stage=spmd k.vf | grep -v -e '^#' -e '^mesh' > part.vf
viewfold dump --stage=kernels part.vf | md5sum
>>>
$ sh key.sh 'graph @g(%a: f32[8,6] @m[x,-]) {; %y = exp %a; return %y; }' > a; sh key.sh 'graph @g(%a: f32[8,6] @m[y,-]) {; %y = exp %a; return %y; }' | diff - a

== a contracted axis that is divided leaves a pending sum, which a result does not keep. spec: P10 P11 E10
$ sh p.sh x=2,y=4 'graph @g(%a: f32[8,8] @m[?,x], %b: f32[8,8] @m[?,?]) {; %p = matmul %a, %b; %y = mul %p, 2.0; return %y; }'
- %y: [-,-]+x to [-,-], all_reduce: a result is not pending
%a: f32[8,8] @m[?,x], %b: f32[8,8] @m[x,-]
%0 matmul: f32[8,8] @m[-,-]+x
%y mul: f32[8,8] @m[-,-]+x

== a value without a spec is open; what propagation found is closed. spec: P1 P9
$ sh p.sh x=2,y=4 'graph @g(%a: f32[8]) {; %b = exp %a; %y = shard %b to=[x]; return %y; }'
%a: f32[8] @m[x]
%0 exp: f32[8] @m[x]
%y shard: f32[8] @m[x]
$ sh p.sh x=2,y=4 'graph @g(%a: f32[8]) {; %y = exp %a; return %y; }'
%a: f32[8] @m[-]
%y exp: f32[8] @m[-]

== an open dimension takes what continues its axes; a closed one keeps its own. spec: P3 P5 P6
$ sh p.sh x=2,y=4 'graph @g(%a: f32[8] @m[x?], %b: f32[8] @m[x.y]) {; %y = add %a, %b; return %y; }'
%a: f32[8] @m[x.y], %b: f32[8] @m[x.y]
%y add: f32[8] @m[x.y]
$ sh p.sh x=2,y=4 'graph @g(%a: f32[8] @m[y?], %b: f32[8] @m[x.y]) {; %y = add %a, %b; return %y; }' | tail -2
%a: f32[8] @m[y?], %b: f32[8] @m[x.y]
%y add: f32[8] @m[y]
$ sh p.sh x=2,y=4 'graph @g(%a: f32[8] @m[x], %b: f32[8] @m[x.y]) {; %y = add %a, %b; return %y; }' | tail -2
%a: f32[8] @m[x], %b: f32[8] @m[x.y]
%y add: f32[8] @m[x.y]

== a stronger priority before more parts. spec: P4
$ sh p.sh x=2,y=4 'graph @g(%a: f32[8] @m[y p1], %b: f32[8] @m[x]) {; %c = add %a, %b; %y = exp %c; return %y; }' | tail -2
%0 add: f32[8] @m[x]
%y exp: f32[8] @m[x]

== an axis stands once in a value: the first dimension that claims it has it. spec: P7
$ sh p.sh x=2 'graph @g(%a: f32[8,4] @m[x,-], %b: f32[4,8] @m[-,x]) {; %y = matmul %a, %b; return %y; }' | tail -1
%y matmul: f32[8,8] @m[x,-]

== weaker priorities come after all that the stronger ones give, wherever they stand. spec: P8 P25
$ sh p.sh x=2,y=4 'graph @g(%a: f32[8] @m[x p1], %b: f32[8] @m[?]) {; %c = add %a, %b; %d = exp %c; %y = shard %d to=[y]; return %y; }'
- %c, operand 0: [x p1] to [y], exchange: other operands or the result are divided like that
%a: f32[8] @m[x p1], %b: f32[8] @m[y]
%0 add: f32[8] @m[y]
%1 exp: f32[8] @m[y]
%y shard: f32[8] @m[y]

== to the fixed point, however long the way. spec: P32
<<< long.sh
printf 'mesh @m [x=2]\ngraph @g(%%a: f32[8]) {\n  %%v0 = exp %%a\n'
i=0; while [ $i -lt 150 ]; do printf '  %%v%d = neg %%v%d\n' $((i + 1)) $i; i=$((i + 1)); done
printf '  %%y = shard %%v150 to=[x]\n  return %%y\n}\n'
>>>
$ sh long.sh > long.vf; viewfold dump --stage=shard long.vf | grep -c '@m\[x\]$'
152
