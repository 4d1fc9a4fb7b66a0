# The mesh with what messages take: mesh calibrate.

== a mesh of threads, whose text the commands take
$ viewfold mesh calibrate x=2,y=1 > mesh.txt && sed 's/[0-9.e-]*[1-9][0-9.e-]*,0/N,0/g' mesh.txt
mesh @m [x=2,y=1] latency=[N,0.0] bandwidth=[N,0.0]
$ { cat mesh.txt; printf 'graph @g(%%a: f32[4] @m[x]) {\n%%b = sum %%a\nreturn %%b\n}\n'; } > sum.vf && viewfold run --mesh x=2,y=1 sum.vf --in a=[1,2,3,4]
b: f32[] = 10.0

== what is wrong with the mesh
$ viewfold mesh
! viewfold mesh: what is to be done; it does one thing: viewfold mesh calibrate MESH
! Try 'viewfold mesh --help'.
? 2
$ viewfold mesh measure x=2
! viewfold mesh: unknown word measure; it does one thing: viewfold mesh calibrate MESH
! Try 'viewfold mesh --help'.
? 2
$ viewfold mesh calibrate
! viewfold mesh: no mesh is given, such as x=2,y=4
! Try 'viewfold mesh --help'.
? 2
$ viewfold mesh calibrate x=2,y
! viewfold mesh: x=2,y: mesh:1:6: error: missing size of an axis, found the end of the text, expected '=' and a number
! Try 'viewfold mesh --help'.
? 2
$ viewfold mesh calibrate x=300
! viewfold mesh: a mesh of 300 devices: one process has at most 256 as threads
? 3
