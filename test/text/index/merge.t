# viewfold index --views: which chains become one view. A chain that is equal to no single view keeps as few
# views as possible.

== a reshape across strides that do not nest
$ viewfold index --views 'f32[3,2].permute(1,0).reshape(3,2)'
V((2,3);(1,2);0)
V((3,2);(2,1);0)

== padded rows, reshaped
$ viewfold index --views 'f32[2,3].pad((1,1),(0,0)).reshape(12)'
V((12,);(1,);-3;((3,9),))
$ viewfold index --views 'f32[2,3].pad((1,1),(0,0)).reshape(4,3,1)'
V((4,3,1);(3,1,0);-3;((1,3),(0,3),(0,1)))
$ viewfold index --views 'f32[2,3].pad((1,1),(0,0)).reshape(1,4,3)'
V((1,4,3);(0,3,1);-3;((0,1),(1,3),(0,3)))
$ viewfold index --views 'f32[2,3].pad((1,1),(0,0)).reshape(4,1,3)'
V((4,1,3);(3,0,1);-3;((1,3),(0,1),(0,3)))
$ viewfold index --views 'f32[2,3].pad((1,1),(0,0)).reshape(2,2,3)'
V((4,3);(3,1);-3;((1,3),(0,3)))
V((2,2,3);(6,3,1);0)
$ viewfold index --views 'f32[2,3].pad((1,1),(0,0)).reshape(3,4)'
V((4,3);(3,1);-3;((1,3),(0,3)))
V((3,4);(4,1);0)

== padded columns, reshaped
$ viewfold index --views 'f32[2,3].pad((0,0),(1,1)).reshape(10)'
V((2,5);(3,1);-1;((0,2),(1,4)))
V((10,);(1,);0)
$ viewfold index --views 'f32[2,3].pad((0,0),(1,1)).reshape(2,5,1)'
V((2,5,1);(3,1,0);-1;((0,2),(1,4),(0,1)))
$ viewfold index --views 'f32[2,3].pad((0,0),(1,1)).reshape(1,2,5)'
V((1,2,5);(0,3,1);-1;((0,1),(0,2),(1,4)))

== one padded row or a padded vector, reshaped
$ viewfold index --views 'f32[1,4].pad((1,1),(0,0)).reshape(12)'
V((12,);(1,);-4;((4,8),))
$ viewfold index --views 'f32[1,4].pad((1,1),(0,0)).reshape(6,2)'
V((6,2);(2,1);-4;((2,4),(0,2)))
$ viewfold index --views 'f32[6].pad((6,0)).reshape(2,6)'
V((2,6);(0,1);0;((1,2),(0,6)))
$ viewfold index --views 'f32[6].pad((6,0)).reshape(4,3)'
V((4,3);(3,1);-6;((2,4),(0,3)))
$ viewfold index --views 'f32[6].pad((6,0)).reshape(3,4)'
V((12,);(1,);-6;((6,12),))
V((3,4);(4,1);0)
$ viewfold index --views 'f32[1,10,1].pad((0,4),(0,0),(1,0)).reshape(5,5,2,2)'
V((5,5,2,2);(0,2,1,0);0;((0,1),(0,5),(0,2),(1,2)))
$ viewfold index --views 'f32[1,1,4].pad((3,6),(0,0),(1,5)).reshape(100)'
V((100,);(1,);-31;((31,35),))
$ viewfold index --views 'f32[5,10,5,10].permute(1,0,3,2).pad((0,0),(0,5),(0,0),(0,5)).reshape(10,2,5,10,2,5)'
V((10,2,5,10,2,5);(50,0,500,1,0,10);0;((0,10),(0,1),(0,5),(0,10),(0,1),(0,5)))

== a view of part of a transposed array
$ viewfold index --views 'f32[2,3,2].shrink((0,2),(0,3),(0,1)).reshape(2,3).reshape(6)'
V((6,);(2,);0)
$ viewfold index --views 'f32[4,3].permute(1,0).reshape(12).reshape(3,4).pad((1,1),(0,0))'
V((5,4);(1,3);-1;((1,4),(0,4)))
$ viewfold index --views 'f32[3,2].permute(1,0).reshape(6).stride(3)'
V((2,);(1,);0)
$ viewfold index --views 'f32[3,3].permute(1,0).reshape(9).stride(4)'
V((3,);(4,);0)
$ viewfold index --views 'f32[2,2,2].permute(2,1,0).reshape(4,2).permute(1,0).reshape(2,2,2)'
V((2,2,2);(4,1,2);0)

== axes that carry into the next one only together
$ viewfold index --views 'f32[15,9].shrink((0,15),(6,9)).reshape(45).pad((0,3)).reshape(4,12).stride(1,4)'
V((4,3);(36,10);6)

== a strided mask
$ viewfold index --views 'f32[3].pad((1,1)).stride(2).shrink((0,2))'
V((2,);(0,);1;((1,2),))
$ viewfold index --views 'f32[3].pad((1,1)).flip(0)'
V((5,);(-1,);3;((1,4),))
$ viewfold index --views 'f32[3,3].pad((0,0),(1,1)).reshape(15)'
V((3,5);(3,1);-1;((0,3),(1,4)))
V((15,);(1,);0)

== a window that sees one row of a padded array
$ viewfold index --views 'f32[2,3].pad((1,1),(1,0)).reshape(2,8).shrink((1,2),(0,8))'
V((1,8);(0,1);2;((0,1),(1,4)))

== a stride that meets the padding of every second row
$ viewfold index --views 'f32[3,4].pad((1,0),(0,2)).reshape(6,4).stride(2,1).reshape(2,6)'
V((2,6);(6,1);-2;((0,2),(4,6)))
$ viewfold index --views 'f32[2,2,3].stride(1,2,1).reshape(2,3).pad((0,2),(0,0)).reshape(1,6,2).stride(2,2,1)'
V((1,3,2);(0,7,1);0;((0,1),(0,2),(0,2)))

== a column of a padded array that is reshaped
$ viewfold index --views 'f32[3,4].pad((1,0),(1,1)).reshape(6,4).shrink((0,5),(1,3))'
V((5,2);(2,1);-2;((2,4),(0,2)))
$ viewfold index --views 'f32[2,3].pad((1,1),(1,1)).reshape(5,2,2).shrink((1,5),(1,2),(1,2))'
V((4,1,1);(2,0,0);1;((0,2),(0,1),(0,1)))

== a window wholly in padding
$ viewfold index --views 'f32[2,3].pad((0,2),(0,0)).reshape(2,3,2).shrink((1,2),(0,2),(0,2))'
V((1,2,2);(0,0,0);0;((0,0),(0,0),(0,0)))

== windows that overlap
$ viewfold index --views 'f32[4].reshape(1,4).expand(3,4).reshape(12).shrink((0,10)).reshape(2,5).shrink((0,2),(0,3))'
V((2,3);(1,1);0)
$ viewfold index --views 'f32[10,140].reshape(10,1,140).expand(10,10,140).reshape(10,1400).shrink((0,10),(0,1359)).reshape(10,9,151).shrink((0,10),(0,9),(0,40)).stride(1,1,13)'
V((10,9,4);(140,11,13);0)

== strides whose carries happen to cancel
$ viewfold index --views 'f32[10,140].reshape(10,1,140).expand(10,10,140).reshape(10,1400).shrink((0,10),(0,1359)).reshape(10,9,151).shrink((0,10),(0,9),(0,40)).stride(1,1,13).reshape(360).stride(9).shrink((0,6))'
V((6,);(35,);0)

== an earlier pair merges although the last does not
$ viewfold index --views 'f32[2,3,2].shrink((0,2),(0,3),(0,1)).reshape(2,3).reshape(6).flip(0).reshape(3,2).permute(1,0).reshape(3,2)'
V((2,3);(-2,-4);10)
V((3,2);(2,1);0)
