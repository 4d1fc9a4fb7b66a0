# A pending sum that is joined of parts is exchanged in pieces, each when it is known, where latency and bandwidth of
# the mesh say that the last one arrives earlier so.

<<< gradients.vf
mesh @m [x=2] latency=[1e-5] bandwidth=[1e9]
graph @gradients(%a: f32[512,64] @m[x,-], %b: f32[512,64] @m[x,-], %w: f32[64,64]) {
  %t = permute %a order=[1,0]
  %p = matmul %t, %b
  %c = matmul %b, %w
  %q = matmul %t, %c
  %r = sum %q axes=[1]
  %f = reshape %p shape=[4096]
  %g = reshape %q shape=[4096]
  %all = concat %r, %g, %f axis=0
  %y = relu %all
  return %y
}
>>>

== the first product goes while the second is computed, and what is known at the same time goes together
$ viewfold explain --mesh gradients.vf | grep all_reduce
  all_reduce x to [-]                         receives 16384, all 32768, peak 49152, 26.4 us
  all_reduce x to [-]                         receives 16640, all 33280, peak 49920, 26.6 us

== the results are those of one device
$ sed '1s/1e-5/1e-12/; 1s/1e9/1e12/; s/512/4/g; s/4096/4/g; s/64/2/g' gradients.vf > small.vf; viewfold explain --mesh small.vf | grep -c all_reduce
3
$ viewfold run small.vf --mesh x=2 --check --in a=[[1,2],[3,-4],[5,6],[7,8]] --in b=[[1,0],[-2,1],[0,3],[1,1]] --in w=[[1,2],[-3,4]]
y: f32[10] = [31.0, 76.0, 0.0, 104.0, 0.0, 124.0, 2.0, 25.0, 18.0, 22.0]
check y: 10 elements, bit-equal

== where messages cost more than they save, there is one
$ sed '1s/1e-5/1e-3/' gradients.vf > slow.vf; viewfold explain --mesh slow.vf | grep -c all_reduce
1
