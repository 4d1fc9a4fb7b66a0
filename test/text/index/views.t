# viewfold index --views: (shape; strides; offset; mask).

== one view
$ viewfold index --views 'f32[2,3]'
V((2,3);(3,1);0)
$ viewfold index --views 'f32[]'
V(();();0)
$ viewfold index --views 'f32[2,3].pad((1,1),(0,2)).flip(1)'
V((4,5);(3,-1);1;((1,3),(2,5)))

== a reshape that needs a second view
$ viewfold index --views 'f32[3,2].permute(1,0).reshape(3,2)'
V((2,3);(1,2);0)
V((3,2);(2,1);0)

== a reshape of padding
$ viewfold index --views 'f32[1,4].pad((1,1),(0,0)).reshape(6,2)'
V((6,2);(2,1);-4;((2,4),(0,2)))

== what has no views says so
$ viewfold index --views 'f32[n=1..4]'
! viewfold index: input: a size that varies has no view of fixed strides; leave out --views for its index expression
? 2
$ viewfold index --views 'f32[4].pad((1,1),mode=wrap)'
! viewfold index: pad: padding by elements is no view of fixed strides; leave out --views for its index expression
? 2
$ viewfold index --views 'f32[4].gather(0,[1])'
! viewfold index: gather: this is no view of one buffer; leave out --views for its index expression
? 2
