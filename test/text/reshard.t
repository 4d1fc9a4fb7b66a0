# Redistribution. spec: C3 W6
<<< even.jsonl
{"id":"nothing","mesh":"x2,y4","shape":[16,24],"dtype":"f32","from":"[x,y]","to":"[x,y]"}
{"id":"slice","mesh":"x2,y4","shape":[16,24],"dtype":"f32","from":"[-,-]","to":"[-,y.x]"}
{"id":"gather","mesh":"x2,y4","shape":[16,24],"dtype":"f32","from":"[x.y,-]","to":"[x,-]"}
{"id":"transpose","mesh":"x2,y4","shape":[16,24],"dtype":"f32","from":"[x,y]","to":"[x.y,-]"}
{"id":"order","mesh":"x2,y4","shape":[16,24],"dtype":"f32","from":"[x.y,-]","to":"[y.x,-]"}
{"id":"other axis","mesh":"x2,y2","shape":[16,24],"dtype":"f32","from":"[x,-]","to":"[y,-]"}
{"id":"both","mesh":"x2,y4","shape":[16,24],"dtype":"f32","from":"[y,x]","to":"[-,y]"}
{"id":"parts of sums","mesh":"x2,y4","shape":[16,24],"dtype":"f32","from":"[x,-]+y","to":"[x,y]"}
{"id":"sums","mesh":"x2,y4","shape":[16,24],"dtype":"f32","from":"[x,-]+y","to":"[x,-]"}
{"id":"sums by all","mesh":"x2,y4","shape":[16,24],"dtype":"f32","from":"[-,-]+y","to":"[-,-]"}
{"id":"sums of scalars","mesh":"x3","shape":[],"dtype":"f32","from":"[]+x","to":"[]"}
>>>

== the steps have the names of the field
$ viewfold reshard --json < even.jsonl
{"id":"nothing","steps":[],"recv":0,"total":0,"peak":192,"bound":0,"exact":true}
{"id":"slice","steps":[{"op":"slice","axes":["x","y"],"to":"[-,y.x]","recv":0}],"recv":0,"total":0,"peak":1728,"bound":0,"exact":true}
{"id":"gather","steps":[{"op":"all_gather","axes":["y"],"to":"[x,-]","recv":576}],"recv":576,"total":4608,"peak":960,"bound":576,"exact":true}
{"id":"transpose","steps":[{"op":"all_to_all","axes":["y"],"to":"[x.y,-]","recv":144}],"recv":144,"total":1152,"peak":384,"bound":144,"exact":true}
{"id":"order","steps":[{"op":"permute","axes":["x","y"],"to":"[y.x,-]","recv":192}],"recv":192,"total":1152,"peak":384,"bound":192,"exact":true}
{"id":"other axis","steps":[{"op":"permute","axes":["x","y"],"to":"[y,-]","recv":768}],"recv":768,"total":1536,"peak":1536,"bound":768,"exact":true}
{"id":"both","steps":[{"op":"exchange","axes":["x","y"],"to":"[-,y]","recv":384}],"recv":384,"total":2688,"peak":576,"bound":384,"exact":true}
{"id":"parts of sums","steps":[{"op":"reduce_scatter","axes":["y"],"to":"[x,y]","recv":576}],"recv":576,"total":4608,"peak":1536,"bound":576,"exact":true}
{"id":"sums","steps":[{"op":"all_reduce","axes":["y"],"to":"[x,-]","recv":1152}],"recv":1152,"total":9216,"peak":1536,"bound":1152,"exact":true}
{"id":"sums by all","steps":[{"op":"reduce_scatter","axes":["x","y"],"to":"[y.x,-]","recv":576},{"op":"all_gather","axes":["x","y"],"to":"[-,-]","recv":1344}],"recv":1920,"total":15360,"peak":2304,"bound":1920,"exact":true}
{"id":"sums of scalars","steps":[{"op":"all_reduce","axes":["x"],"to":"[]","recv":8}],"recv":8,"total":16,"peak":16,"bound":6,"exact":true}

== sizes that do not divide, and are smaller than the mesh
$ echo '{"id":1,"mesh":"x2,y4","shape":[10,7],"dtype":"i8","from":"[x.y,-]","to":"[-,y.x]"}' | viewfold reshard --json
{"id":1,"steps":[{"op":"all_to_all","axes":["x","y"],"to":"[-,y.x]","recv":10}],"recv":10,"total":60,"peak":24,"bound":10,"exact":true}
$ echo '{"id":2,"mesh":"x4","shape":[3],"dtype":"i8","from":"[x]","to":"[-]"}' | viewfold reshard --json
{"id":2,"steps":[{"op":"all_gather","axes":["x"],"to":"[-]","recv":3}],"recv":3,"total":9,"peak":4,"bound":3,"exact":true}
$ echo '{"id":3,"mesh":"x4","shape":[0,3],"dtype":"i8","from":"[-,x]","to":"[-,-]"}' | viewfold reshard --json
{"id":3,"steps":[{"op":"slice","axes":["x"],"to":"[-,-]","recv":0}],"recv":0,"total":0,"peak":0,"bound":0,"exact":true}

== few messages or few bytes, by the time that they take
$ echo '{"id":"large","mesh":"x8","shape":[1024,1024],"dtype":"f32","from":"[x,-]","to":"[-,x]","mode":"time"}' | viewfold reshard --json
{"id":"large","steps":[{"op":"all_to_all","axes":["x"],"to":"[-,x]","recv":458752}],"recv":458752,"total":3670016,"peak":1048576,"bound":458752,"exact":true,"time":5.28752e-5}
$ echo '{"id":"small","mesh":"x8","shape":[8,8],"dtype":"f32","from":"[x,-]","to":"[-,x]","mode":"time"}' | viewfold reshard --json
{"id":"small","steps":[{"op":"all_gather","axes":["x:(4)2"],"to":"[x:(1)4,-]","recv":32},{"op":"all_gather","axes":["x:(2)2"],"to":"[x:(1)2,-]","recv":64},{"op":"exchange","axes":["x"],"to":"[-,x]","recv":16}],"recv":112,"total":896,"peak":192,"bound":28,"exact":true,"time":3.0112e-6}

== a slow axis carries what it must, a fast one what remains
$ echo '{"mesh":"x2,y4","shape":[1024,1024],"dtype":"f32","from":"[x,-]","to":"[-,-]","mode":"time","latency":[1e-6,1e-6],"bandwidth":[1e8,1e10]}' | viewfold reshard --json
{"id":null,"steps":[{"op":"exchange","axes":["x","y"],"to":"[-,y]","recv":524288},{"op":"all_gather","axes":["y:(2)2"],"to":"[-,y:(1)2]","recv":1048576},{"op":"all_gather","axes":["y:(1)2"],"to":"[-,-]","recv":2097152}],"recv":3670016,"total":29360128,"peak":6291456,"bound":2097152,"exact":true,"time":0.0055604528}

== an axis that both specs begin with helps where it is fast
$ echo '{"id":"f","mesh":"x2,y2,z2","shape":[17,8],"dtype":"i8","from":"[y.z,x]","to":"[-,x.y.z]","mode":"time","latency":[1e-8,1e-8,1e-7],"bandwidth":[1e10,1e10,1e10]}' | viewfold reshard --json
{"id":"f","steps":[{"op":"all_gather","axes":["x"],"to":"[y.z,-]","recv":20},{"op":"permute","axes":["x","z"],"to":"[y.x,-]","recv":40},{"op":"exchange","axes":["x","y","z"],"to":"[-,x.y.z]","recv":15}],"recv":72,"total":374,"peak":80,"bound":15,"exact":true,"time":1.475e-7}

== within a limit of memory
$ echo '{"id":"free","mesh":"x8","shape":[64],"dtype":"i8","from":"[-]+x","to":"[x]"}' | viewfold reshard --json
{"id":"free","steps":[{"op":"reduce_scatter","axes":["x"],"to":"[x]","recv":56}],"recv":56,"total":448,"peak":128,"bound":56,"exact":true}
$ echo '{"id":"within","mesh":"x2,y2,z2","shape":[9,15],"dtype":"i8","from":"[y.z,-]","to":"[-,-]","limit":159}' | viewfold reshard --json
{"id":"within","steps":[{"op":"slice","axes":["x"],"to":"[y.z,x]","recv":0},{"op":"all_gather","axes":["x","y","z"],"to":"[-,-]","recv":135}],"recv":135,"total":945,"peak":159,"bound":135,"exact":true}
$ echo '{"id":"none","mesh":"x8","shape":[64],"dtype":"i8","from":"[x]","to":"[-]","limit":60}' | viewfold reshard --json
{"id":"none","error":"reshard: no way keeps within 60 bytes on each device; one exchange needs 72"}
? 2

== thousands of devices
$ echo '{"mesh":"x64,y64","shape":[4096,4096],"dtype":"f32","from":"[x.y,-]","to":"[-,y.x]"}' | viewfold reshard --json
{"id":null,"steps":[{"op":"all_to_all","axes":["x","y"],"to":"[-,y.x]","recv":16380}],"recv":16380,"total":67092480,"peak":32768,"bound":16380,"exact":true}

== what is wrong with a line
<<< bad.jsonl
{"id":"mesh","mesh":"x2,x4","shape":[16],"dtype":"f32","from":"[x]","to":"[-]"}
{"id":"rank","mesh":"x2","shape":[16,2],"dtype":"f32","from":"[x]","to":"[-]"}
{"id":"axis","mesh":"x2","shape":[16],"dtype":"f32","from":"[z]","to":"[-]"}
{"id":"dtype","mesh":"x2","shape":[16],"dtype":"f31","from":"[x]","to":"[-]"}
{"id":"size","mesh":"x2","shape":[-1],"dtype":"f32","from":"[x]","to":"[-]"}
{"id":"pending","mesh":"x2","shape":[16],"dtype":"f32","from":"[x]","to":"[-]+x"}
{"id":"operation","mesh":"x2,y2","shape":[16],"dtype":"f32","from":"[-]+max(x.y)","to":"[-]+y"}
{"id":"cuts","mesh":"x6","shape":[16],"dtype":"f32","from":"[x:(1)2]","to":"[x:(1)3]"}
{"id":"mode","mesh":"x2","shape":[16],"dtype":"f32","from":"[x]","to":"[-]","mode":"space"}
{"id":"limit","mesh":"x2","shape":[16],"dtype":"f32","from":"[x]","to":"[-]","limit":0}
{"id":"latency","mesh":"x2","shape":[16],"dtype":"f32","from":"[x]","to":"[-]","latency":[]}
{"id":"bytes","mesh":"x2","shape":[4611686018427387904],"dtype":"f32","from":"[x]","to":"[-]"}
[]
>>>
$ viewfold reshard --json < bad.jsonl
{"id":"mesh","error":"mesh:1:4: error: axis x of size 4 of a mesh: the mesh has an axis of that name"}
{"id":"rank","error":"from: found 1 dimension, expected 2, as the shape has: an entry for each axis, - where it is whole"}
{"id":"axis","error":"spec:1:2: error: no axis of the mesh, found 'z', expected one of x"}
{"id":"dtype","error":"dtype: found a string, expected f32, i8, or another dtype of arrays"}
{"id":"size","error":"shape: found an integer, expected a list of integers that are not negative"}
{"id":"pending","error":"reshard: what is pending afterwards must be pending before, by the same operation"}
{"id":"operation","error":"reshard: what is pending afterwards must be pending before, by the same operation"}
{"id":"cuts","error":"reshard: the specs divide an axis of the mesh at places that do not nest"}
{"id":"mode","error":"mode: found a string, expected \"bytes\" or \"time\""}
{"id":"limit","error":"limit: found an integer, expected a number of bytes, at least 1"}
{"id":"latency","error":"latency: found a list, expected a list of one number for each axis of the mesh"}
{"id":"bytes","error":"reshard: the array has too many bytes"}
{"id":null,"error":"line: found a list, expected an object"}
? 2

== no arguments
$ viewfold reshard
! viewfold reshard: it reads lines of JSON from standard input, as in echo '{"id":"a","mesh":"x2","shape":[4,4],"dtype":"f32","from":"[x,-]","to":"[-,x]"}' | viewfold reshard --json
! Try 'viewfold reshard --help'.
? 2
