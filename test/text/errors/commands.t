# Options, values and variables as people write them who know other programs.

<<< f.vf
graph @f(%x: f32[2]) {
  %y = relu %x
  return %y
}
>>>
<<< n.vf
graph @f(%x: f32[n=1..8]) {
  %y = relu %x
  return %y
}
>>>

== a value that is no file
$ viewfold run f.vf --in x=abc
! abc: error: cannot open the file: No such file or directory; a value that is no file is a number, or a list such as [1,2]
? 2

== a colon for =
$ viewfold run f.vf --in x:x.npy
! viewfold run: --in takes NAME=VALUE, found 'x:x.npy'; as in --in x=x.npy
! Try 'viewfold run --help'.
? 2

== a size without its name
$ viewfold run n.vf --size 3
! viewfold run: --size takes NAME=VALUE, found '3'; as in --size n=3
! Try 'viewfold run --help'.
? 2

== options of other commands
$ viewfold dump f.vf --stage=spmd --mesh x=2
! viewfold dump: unknown option '--mesh'; the text declares its mesh, above the graph: mesh @m [x=2,y=4]
! Try 'viewfold dump --help'.
? 2
$ viewfold dump f.vf --stage=graph --shard 'x=[x]'
! viewfold dump: unknown option '--shard'; the text says it behind a type: %x: f32[8,3]@m[x,-]
! Try 'viewfold dump --help'.
? 2
$ viewfold explain f.vf --json
! viewfold explain: unknown option '--json'; `viewfold run --profile=json` prints figures as JSON
! Try 'viewfold explain --help'.
? 2
$ viewfold dump f.vf --stage=loops -o a
! viewfold dump: unknown option '-o'; it prints to standard output, as in: viewfold dump --stage=loops FILE.vf > loops.txt
! Try 'viewfold dump --help'.
? 2
$ viewfold run f.vf --repeat 10
! viewfold run: unknown option '--repeat'; --time measures many runs, and prints their median
! Try 'viewfold run --help'.
? 2

== files that are no models
$ printf '\223NUMPY\001\000v\000' > x.npy; viewfold import x.npy -o g.vf
! x.npy: error: no ONNX model, but an array of NumPy
? 2
$ printf 'PK\003\004' > x.pt; viewfold import x.pt -o g.vf
! x.pt: error: no ONNX model, but an archive, as of .npz and of torch.save; torch.onnx.export writes models
? 2
$ printf '\200\002}q' > y.onnx; viewfold run y.onnx
! y.onnx: error: no ONNX model, but a pickle of Python, as of torch.save of old; torch.onnx.export writes models, numpy.save arrays
? 2
$ printf '\211HDF\r\n' > x.h5; viewfold import x.h5 -o g.vf; viewfold run x.h5
! x.h5: error: no ONNX model, but an HDF5 file, as of Keras
! x.h5: error: it is an HDF5 file, not a text of graphs; graphs are given arrays, as in --in x=FILE.npy
? 2
$ printf 'GGUF\003\000' > x.gguf; viewfold import x.gguf -o g.vf; viewfold run x.gguf
! x.gguf: error: no ONNX model, but a GGUF file, which holds weights without a graph
! x.gguf: error: it is a GGUF file of weights, not a text of graphs; a text reads it by %w = data file="FILE.gguf" name="w"
? 2
$ printf '\177ELF' > x.o; viewfold import x.o -o g.vf
! x.o: error: no ONNX model, but an object file or a program
? 2

== variables of the environment that are nearly ours
$ VIEWFOLD_THREAD=2 viewfold run f.vf --in x=[1,2]
y: f32[2] = [1.0, 2.0]
! viewfold: no variable of viewfold is called VIEWFOLD_THREAD; VIEWFOLD_THREADS is
$ VIEWFOLD_CACHEDIR=c viewfold run f.vf --in x=[1,2]
y: f32[2] = [1.0, 2.0]
! viewfold: no variable of viewfold is called VIEWFOLD_CACHEDIR; VIEWFOLD_CACHE_DIR is
$ VIEWFOLD_LOG=1 viewfold run f.vf --in x=[1,2]
y: f32[2] = [1.0, 2.0]
! viewfold: no variable of viewfold is called VIEWFOLD_LOG; VIEWFOLD_DEBUG=log is
$ VIEWFOLD_ROOT=1 viewfold run f.vf --in x=[1,2]
y: f32[2] = [1.0, 2.0]
