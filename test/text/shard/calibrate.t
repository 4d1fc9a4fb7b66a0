# The mesh with what messages take: mesh calibrate.

== a mesh of threads, whose text the commands take
$ viewfold mesh calibrate x=2,y=1 > mesh.txt && sed 's/[0-9.e+-]*[1-9][0-9.e+-]*,0/N,0/g' mesh.txt
mesh @m [x=2,y=1] latency=[N,0.0] bandwidth=[N,0.0]
$ { cat mesh.txt; printf 'graph @g(%%a: f32[4] @m[x]) {\n%%b = sum %%a\nreturn %%b\n}\n'; } > sum.vf && viewfold run --mesh x=2,y=1 sum.vf --in a=[1,2,3,4]
b: f32[] = 10.0

== what was measured counts for meshes of these sizes that declare nothing
<<< kept.vf
mesh @m [x=2,y=1]
graph @g(%a: f32[4] @m[x]) {
  %b = sum %a
  return %b
}
>>>
$ viewfold mesh calibrate x=2,y=1 > measured.txt
$ viewfold explain --mesh kept.vf | sed 's/[0-9.e+-]*[1-9][0-9.e+-]*,0/N,0/g; s/, [0-9.e+]* us/, N us/; /next best/d; /^$/d'
graph @g on mesh @m [x=2,y=1] latency=[N,0.0] bandwidth=[N,0.0]: 1 collective; a device receives 4 bytes at most, all of them 8
all devices on host [..]
latency and bandwidth as viewfold mesh calibrate measured them
%b: []+x to []: a result is not pending
  all_reduce x to []                          receives 4, all 8, peak 12, N us
$ VIEWFOLD_MESH_COSTS=none viewfold explain --mesh kept.vf | head -1
graph @g on mesh @m [x=2,y=1]: 1 collective; a device receives 4 bytes at most, all of them 8
$ VIEWFOLD_MESH_COSTS=off viewfold explain --mesh kept.vf
! viewfold explain: VIEWFOLD_MESH_COSTS is off; it is kept, as without it: what viewfold mesh calibrate measured counts; or none: it does not
? 2
$ sed 's/y=1\]/& latency=[1e-6,0] bandwidth=[1e9,0]/' kept.vf > given.vf && viewfold explain --mesh given.vf | sed -n '1p;/measured/p'
graph @g on mesh @m [x=2,y=1] latency=[1e-06,0.0] bandwidth=[1000000000.0,0.0]: 1 collective; a device receives 4 bytes at most, all of them 8
$ sed 's/x=2/x=4/' kept.vf > other.vf && viewfold explain --mesh other.vf | head -1
graph @g on mesh @m [x=4,y=1]: 1 collective; a device receives 12 bytes at most, all of them 24
$ viewfold run kept.vf --mesh x=2,y=1 --auto --in a=[1,2,3,4] --check
b: f32[] = 10.0
check b: 1 element, bit-equal

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
