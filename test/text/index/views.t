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

== a chain that is equal to one view is one view, whatever reshapes are in between
$ viewfold index --views 'f32[2,3].pad((1,1),(1,0)).reshape(2,8).shrink((1,2),(0,8))'
V((1,8);(0,1);2;((0,1),(1,4)))
$ viewfold index --views 'f32[3,4].pad((1,0),(0,2)).reshape(6,4).stride(2,1).reshape(2,6)'
V((2,6);(6,1);-2;((0,2),(4,6)))
$ viewfold index --views 'f32[2,2,3].stride(1,2,1).reshape(2,3).pad((0,2),(0,0)).reshape(1,6,2).stride(2,2,1)'
V((1,3,2);(0,7,1);0;((0,1),(0,2),(0,2)))
$ viewfold index --views 'f32[3,4].pad((1,0),(1,1)).reshape(6,4).shrink((0,5),(1,3))'
V((5,2);(2,1);-2;((2,4),(0,2)))
$ viewfold index --views 'f32[2,3].pad((1,1),(1,1)).reshape(5,2,2).shrink((1,5),(1,2),(1,2))'
V((4,1,1);(2,0,0);1;((0,2),(0,1),(0,1)))
$ viewfold index --views 'f32[2,3].pad((0,2),(0,0)).reshape(2,3,2).shrink((1,2),(0,2),(0,2))'
V((1,2,2);(0,0,0);0;((0,0),(0,0),(0,0)))

== also where no two adjacent views merge
$ viewfold index --views 'f32[8].reshape(2,4).permute(1,0).reshape(8).reshape(2,4).permute(1,0).reshape(8).reshape(2,4).permute(1,0).reshape(8)'
V((8,);(1,);0)

== symbolic sizes
$ viewfold index --views 'f32[n=4..64:4,32].reshape(n//4,128).pad((1,0),(0,0)).flip(1)'
V((((n//4)+1),128);(128,-1);-1;((1,((n//4)+1)),(0,128)))
$ viewfold index --views 'f32[n=4..64:4,32].permute(1,0).reshape(n//4,128)'
V((32,n);(1,32);0)
V(((n//4),128);(128,1);0)

== operations without views say so
$ viewfold index --views 'f32[4].pad((1,1),mode=wrap)'
! viewfold index: pad: padding by elements is no view of fixed strides; its index expression says where it reads
? 2
$ viewfold index --views 'f32[4].gather(0,[1])'
! viewfold index: gather: this is no view of one buffer; its index expression says where it reads
? 2
