# Batch streaming: products of which only one batch element is needed at a time
# (passes/batch_stream/batch_stream.c).
<<< layer.vf
graph @layer(%x: f32[8,128,384], %w: f32[1152,384], %b: f32[1152]) {
  %wt = permute %w order=[1,0]
  %p = matmul %x, %wt
  %pb = add %p, %b
  %ps = reshape %pb shape=[8,128,3,12,32]
  %qkv = permute %ps order=[2,0,3,1,4]
  %q = point %qkv index=0 axis=0
  %k = point %qkv index=1 axis=0
  %v = point %qkv index=2 axis=0
  %a = attention %q, %k, %v
  %at = permute %a order=[0,2,1,3]
  %y = reshape %at shape=[8,128,384]
  return %y
}

# the product is a result as well
graph @kept(%x: f32[8,128,384], %w: f32[384,1152]) {
  %p = matmul %x, %w
  %ps = reshape %p shape=[8,128,3,12,32]
  %qkv = permute %ps order=[2,0,3,1,4]
  %q = point %qkv index=0 axis=0
  %k = point %qkv index=1 axis=0
  %v = point %qkv index=2 axis=0
  %y = attention %q, %k, %v
  return %y, %p
}

# a loop over rows computes both products (a fused row group)
graph @rows(%x: f32[8,128,384], %u: f32[384,1536], %w: f32[1536,384]) {
  %h = matmul %x, %u
  %f = relu %h
  %y = matmul %f, %w
  return %y
}
>>>

== queries, keys and values exist for one batch element at a time
$ viewfold dump --stage=kernels --graph layer --target 'vector_bytes=64 registers=32' layer.vf | grep -e kernel -e scan -e moves
graph @layer: 4 kernels, 3 temporaries
kernel 0 -> temporary 0 of %p f32[1,1,24,384,48]
scan, trip count 8
  moves   moving 0 f32[128,384] along %x f32[8,128,384]
  moves   moving 1 f32[128,384] along %y f32[8,128,384]
    kernel 1 -> %pb f32[1,128,1152]
    kernel 2 -> temporary 2 of %a f32[1,12,1,2,32,64]
    kernel 3 -> moving 1 f32[128,384]

== the scanned function has a slice of batched operands, and the whole of operands without the batch
$ viewfold dump --print-after=parts --graph layer --target 'vector_bytes=64 registers=32' layer.vf | grep -e '^graph' -e squeeze -e 'scan'
graph @layer_f0(%a0: f32[128,384], %a1: f32[1152], %a2: f32[1,1,24,384,48]) {
  %0 = unsqueeze %a0 axis=0 : f32[1,128,384]
  %58 = squeeze %57 axis=0 : f32[128,384]
graph @layer(%x: f32[8,128,384], %w: f32[1152,384], %b: f32[1152]) {
  %y = scan %x, %b, %9 do=@layer_f0 length=8 carries=0 sliced=1 : f32[8,128,384]

== the least size of a streamed product is a setting
$ viewfold dump --stage=kernels --graph layer --target 'parts=0' layer.vf | grep -c scan
? 1
0
$ viewfold dump --stage=kernels --graph layer --target 'parts=8388608' layer.vf | grep -c scan
? 1
0

== not where the whole product is a result, nor for products in one fused row group, nor for targets with work-groups
$ viewfold dump --stage=kernels --graph kept layer.vf | grep -c scan
? 1
0
$ viewfold dump --stage=kernels --graph rows layer.vf | grep -c scan
? 1
0
$ viewfold dump --stage=kernels --graph layer --target 'lanes=64 local=32768' layer.vf | grep -c scan
? 1
0

== no temporary is as large as the product, 4.7 MB
$ viewfold explain --graph layer --threads 1 layer.vf | sed -n 's/^memory: .* results, \([0-9.]*\) MB of intermediates.*/\1/p' | awk '{ print ($1 < 4) }'
1
