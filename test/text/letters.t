# Letters of axes, in types and by name_axes: read, checked, passed on by operations, and no part of what is compiled.

== letters are passed on
<<< views.vf
graph @views(%x: f32[b=6,h=4,w=5,c=1], %i: i64[k=3], %j: i64[2], %v: f32[b=n=4..64,h=2], %s: f32[4,5]) {
  %permute = permute %x order="cbwh"
  %unsqueeze = unsqueeze %x axis=1
  %squeeze = squeeze %x axis="c"
  %point = point %x index=0 axis="h"
  %expand = expand %x shape=[6,4,5,7]
  %broadcast = expand %x shape=[2,6,4,5,7]
  %shrink = shrink %x bounds=[[0,2],[1,3],[0,5],[0,1]]
  %pad = pad %x pads=[[1,1],[0,0],[0,0],[0,0]]
  %stride = stride %x steps=[2,-1,1,1]
  %flip = flip %x axes="hw"
  %joined = reshape %x shape=[6,20,1]
  %split = reshape %x shape=[2,3,4,5,1]
  %flat = flatten %x start_dim="h" end_dim="c"
  %moved = moveaxis %x source="b" destination=3
  %swapped = swap_axes %x axis1="h" axis2="c"
  %concat = concat %x, %x axis="c"
  %stack = stack %x, %x axis=1
  %gather = gather %x, %i axis="h"
  %lone = gather %x, %j axis="h"
  %sum = sum %x axes="hw"
  %kept = max %x axes="hw" keepdims=true
  %arg = argmax %x axis="w"
  %sorted = sort %x axis="h"
  %running = cumsum %x axis="w"
  %norm = layer_norm %squeeze axis="w"
  %where = where true, %squeeze, %s
  %unnamed = add %squeeze, %s
  %gram = einsum %v, %v equation="bh,ch->bc"
  %named = mul %s, 2 : f32[y=4,x=5]
  %batched = move_axis_to_batch_dims %x axis="h"
  %back = move_axis_from_batch_dims %batched batch_axis=0 logical_destination=3
  return %permute, %unsqueeze, %squeeze, %point, %expand, %broadcast, %shrink, %pad, %stride, %flip, %joined, %split, %flat, %moved, %swapped, %concat, %stack, %gather, %lone, %sum, %kept, %arg, %sorted, %running, %norm, %where, %unnamed, %gram, %named, %batched, %back
}
>>>
$ viewfold dump --stage=graph views.vf > first && grep -v "^  %[0-9]" first | sed "s/= [^:]*:/:/"
graph @views(%x: f32[b=6,h=4,w=5,c=1], %i: i64[k=3], %j: i64[2], %v: f32[b=n=4..64,h=2], %s: f32[4,5]) {
  %permute : f32[c=1,b=6,w=5,h=4]
  %unsqueeze : f32[b=6,1,h=4,w=5,c=1]
  %squeeze : f32[b=6,h=4,w=5]
  %point : f32[b=6,w=5,c=1]
  %expand : f32[b=6,h=4,w=5,c=7]
  %broadcast : f32[2,b=6,h=4,w=5,c=7]
  %shrink : f32[b=2,h=2,w=5,c=1]
  %pad : f32[b=8,h=4,w=5,c=1]
  %stride : f32[b=3,h=4,w=5,c=1]
  %flip : f32[b=6,h=4,w=5,c=1]
  %joined : f32[b=6,20,c=1]
  %split : f32[2,3,h=4,w=5,c=1]
  %flat : f32[b=6,20]
  %moved : f32[h=4,w=5,c=1,b=6]
  %swapped : f32[b=6,c=1,w=5,h=4]
  %concat : f32[b=6,h=4,w=5,c=2]
  %stack : f32[b=6,2,h=4,w=5,c=1]
  %gather : f32[b=6,k=3,w=5,c=1]
  %lone : f32[b=6,h=2,w=5,c=1]
  %sum : f32[b=6,c=1]
  %kept : f32[b=6,h=1,w=1,c=1]
  %arg : i64[b=6,h=4,c=1]
  %sorted : f32[b=6,h=4,w=5,c=1]
  %running : f32[b=6,h=4,w=5,c=1]
  %norm : f32[b=6,h=4,w=5]
  %where : f32[b=6,h=4,w=5]
  %unnamed : f32[b=6,h=4,w=5]
  %gram : f32[b=n,n]
  %named : f32[y=4,x=5]
  %batched : f32[h=4|b=6,w=5,c=1]
  %back : f32[b=6,w=5,c=1,h=4]
  return %permute, %unsqueeze, %squeeze, %point, %expand, %broadcast, %shrink, %pad, %stride, %flip, %joined, %split, %flat, %moved, %swapped, %concat, %stack, %gather, %lone, %sum, %kept, %arg, %sorted, %running, %norm, %where, %unnamed, %gram, %named, %batched, %back
}
$ viewfold dump --stage=graph first | cmp - first

== results are what they are without letters, and kernels too
<<< named.vf
graph @f(%x: f32[b=2,h=2,w=2,c=3], %w: f32[c=3,f=2]) {
  %y = rearrange %x from="bhwc" to="bchw"
  %m = mean %y axes="hw"
  %z = matmul %m, %w
  %out = softmax %z axis="f"
  return %out
}
>>>
<<< plain.vf
graph @f(%x: f32[2,2,2,3], %w: f32[3,2]) {
  %y = permute %x order=[0,3,1,2]
  %m = mean %y axes=[2,3]
  %z = matmul %m, %w
  %out = softmax %z axis=1
  return %out
}
>>>
$ viewfold dump --stage=loops named.vf > named && viewfold dump --stage=loops plain.vf | cmp - named

== axes that meet
<<< meet.vf
graph @f(%x: f32[b=8,c=3], %y: f32[b=8,d=3]) {
  %z = add %x, %y
  return %z
}
>>>
$ viewfold dump --stage=graph meet.vf
! meet.vf:2:3: error: add: axis 'c' meets axis 'd'; operands have shapes f32[b=8,c=3] and f32[b=8,d=3]; axes that meet have one letter: reorder by rearrange, or name them anew
? 2
$ sed "s/add %x, %y/concat %x, %y axis=0/" meet.vf > join.vf && viewfold dump --stage=graph join.vf
! join.vf:2:3: error: concat: axis 'c' meets axis 'd'; operands have shapes f32[b=8,c=3] and f32[b=8,d=3]; axes that meet have one letter: reorder by rearrange, or name them anew
? 2

== products
<<< product.vf
graph @f(%x: f32[b=8,c=3], %y: f32[d=3,f=5]) {
  %z = matmul %x, %y
  return %z
}
>>>
$ viewfold dump --stage=graph product.vf
! product.vf:2:3: error: matmul: axis 'c' meets axis 'd'; operands have shapes f32[b=8,c=3] and f32[d=3,f=5]; axes that meet have one letter: reorder by rearrange, or name them anew
? 2

== a letter that is not there, and one that stands twice
<<< none.vf
graph @f(%x: f32[b=8,c=3]) {
  %z = sum %x axes="bh"
  return %z
}
>>>
<<< twice.vf
graph @f(%x: f32[b=8,b=3]) {
  return %x
}
>>>
$ viewfold dump --stage=graph none.vf
! none.vf:2:3: error: sum: there is no axis 'h'; x has shape f32[b=8,c=3]; axes have letters where a type or name_axes gives them
? 2
$ viewfold dump --stage=graph twice.vf
! twice.vf:1:22: error: letter of an axis twice, found 'b=', expected another
? 2

== rearrange says what axes are, and a type that is wrong about it
<<< order.vf
graph @f(%x: f32[b=8,c=3]) {
  %z = rearrange %x from="cb" to="bc"
  return %z
}
>>>
<<< type.vf
graph @f(%x: f32[b=8,c=3]) {
  %z = relu %x : f32[b=8,d=3]
  return %z
}
>>>
$ viewfold dump --stage=graph order.vf
! order.vf:2:3: error: rearrange: from 'cb' calls axis 0 'c'; x has shape f32[b=8,c=3], where it is 'b'; both must be the same
? 2
$ viewfold dump --stage=graph type.vf
! type.vf:2:18: error: wrong type of '%z', found f32[b=8,d=3], expected f32[b=8,c=3]
? 2

== variables as sizes
<<< sizes.vf
graph @f(%x: f32[n=1..8,b=m=2..4,c=n]) {
  %z = sum %x axes="c"
  return %z
}
>>>
$ viewfold dump --stage=graph sizes.vf
graph @f(%x: f32[n=1..8,b=m=2..4,c=n]) {
  %z = sum %x axes=[2] : f32[n,b=m]
  return %z
}
