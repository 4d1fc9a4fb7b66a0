# ONNX models where a graph is asked for. The models are bytes of the format, written by printf.

== a model with a symbolic size and a shape that is an input
$ printf '\010\010\022\000:x\012\020\012\001x\012\003two\022\001h"\003Mul\012\034\012\001h\012\005shape\022\001y\032\004fold"\007Reshape\022\001g*\015\020\001B\003twoJ\004\000\000\000@Z\024\012\001x\022\017\012\015\010\001\022\011\012\003\022\001n\012\002\010\004Z\023\012\005shape\022\012\012\010\010\007\022\004\012\002\010\002b\011\012\001y\022\004\012\002\010\001B\004\012\000\020\021' > scale.onnx
$ viewfold run scale.onnx --in 'x=[[1,2,3,4],[5,6,7,8]]' --in 'shape=[-1,2]'
y: f32[4,2] = [[2.0, 4.0], [6.0, 8.0], [10.0, 12.0], [14.0, 16.0]]
$ viewfold run scale.onnx --in 'x=[[1,2,3,4]]' --in 'shape=[-1]' --check
y: f32[4] = [2.0, 4.0, 6.0, 8.0]
check y: 4 elements, bit-equal
$ viewfold run scale.onnx --in 'x=[[1,2,3,4]]'
! scale.onnx: error: node 'fold' (Reshape, operator set 17; inputs 'h' f32[n,4], 'shape' i64[2]): shape is the model's input 'shape'; the importer must know its elements: give them as a fixed value of that input: --in shape=VALUE
? 2
$ viewfold dump --stage=graph scale.onnx --in 'shape=[-1]'
graph @g(%x: f32[n=1..65536,4]) {
  %0 = mul %x, 2.0 : f32[n,4]
  %y = reshape %0 shape=[(n*4)] : f32[(n*4)]
  return %y
}

== a model as text
$ printf '\010\010\022\000:x\012\020\012\001x\012\003two\022\001h"\003Mul\012\034\012\001h\012\005shape\022\001y\032\004fold"\007Reshape\022\001g*\015\020\001B\003twoJ\004\000\000\000@Z\024\012\001x\022\017\012\015\010\001\022\011\012\003\022\001n\012\002\010\004Z\023\012\005shape\022\012\012\010\010\007\022\004\012\002\010\002b\011\012\001y\022\004\012\002\010\001B\004\012\000\020\021' > scale.onnx
$ viewfold import scale.onnx -o scale.vf --in 'shape=[-1]'
$ cat scale.vf
graph @g(%x: f32[n=1..65536,4]) {
  %h = mul %x, 2.0 : f32[n,4]
  %y = reshape %h shape=[(n*4)] : f32[(n*4)]
  return %y
}
$ viewfold run scale.vf --in x=[[1,2,3,4]] --out h=h.npy
y: f32[4] = [2.0, 4.0, 6.0, 8.0]
$ viewfold dump --stage=graph --graph g scale.vf | head -1
graph @g(%x: f32[n=1..65536,4]) {

== an operator that there is not is named with its node
$ printf '\010\010\022\000:\064\012\022\012\001x\022\001y\032\002u\061"\006Unbind\022\001gZ\020\012\001x\022\013\012\011\010\001\022\005\012\003\022\001nb\011\012\001y\022\004\012\002\010\001B\004\012\000\020\021' > unbind.onnx
$ viewfold run unbind.onnx --in 'x=[1]'
! unbind.onnx: error: node 'u1' (Unbind, operator set 17; inputs 'x' f32[n]): there is no operator Unbind of domain ''; takes the operators that docs/onnx.md lists, and functions of the model
? 2

== a result whose size depends on an input is computed for the value that the input has
$ printf '\010\010\022\000:\064\012\022\012\001x\022\001y\032\002u\061"\006Unique\022\001gZ\020\012\001x\022\013\012\011\010\001\022\005\012\003\022\001nb\011\012\001y\022\004\012\002\010\001B\004\012\000\020\021' > unique.onnx
$ viewfold run unique.onnx --in 'x=[3,1,3,2]'
y: f32[3] = [1.0, 2.0, 3.0]
$ viewfold explain unique.onnx
! unique.onnx: error: node 'u1' (Unique, operator set 17; inputs 'x' f32[n]): the input is the model's input 'x'; the importer must know its elements: give them as a fixed value of that input: --in x=VALUE
? 2

== test data of a model
$ printf '\010\010\022\000:\063\012\014\012\001x\022\001y"\004Relu\022\001gZ\017\012\001x\022\012\012\010\010\001\022\004\012\002\010\002b\017\012\001y\022\012\012\010\010\001\022\004\012\002\010\002B\004\012\000\020\021' > relu.onnx
$ mkdir good wrong
$ printf '\010\002\020\001B\001xJ\010\000\000\200\277\000\000@@' > good/input_0.pb
$ printf '\010\002\020\001B\001yJ\010\000\000\000\000\000\000@@' > good/output_0.pb
$ cp good/input_0.pb wrong
$ printf '\010\002\020\001B\001yJ\010\000\000\000\000\000\000\200@' > wrong/output_0.pb
$ viewfold run relu.onnx --check good
y: f32[2] = [0.0, 3.0]
check y: 2 elements, as expected
$ viewfold run relu.onnx --check wrong
y: f32[2] = [0.0, 3.0]
check y: FAILED: 1 of 2 elements differ from the expected ones; the first: y[1] is 3.0, expected is 4.0
? 1
$ printf '\010\001\020\001B\001yJ\004\000\000\000\000' > wrong/output_0.pb
$ viewfold run relu.onnx --check wrong
y: f32[2] = [0.0, 3.0]
check y: FAILED: it is f32[2], expected is f32[1]
? 1
$ printf '\010\002\020\001B\001zJ\010\000\000\000\000\000\000\200@' > wrong/output_0.pb
$ viewfold run relu.onnx --check wrong
y: f32[2] = [0.0, 3.0]
check z: FAILED: the model has no such output; its outputs are y
? 1
$ printf '\010\001\020\010B\001y2\001a' > wrong/output_0.pb
$ viewfold run relu.onnx --check wrong
! wrong/output_0.pb: error: the tensor is of dtype string; takes dtypes that viewfold has
? 3
$ cp good/output_0.pb wrong
$ printf '\010\002\020\001J\010\000\000\200\277\000\000@@' > wrong/input_0.pb
$ viewfold run relu.onnx --check wrong
! wrong/input_0.pb: error: the tensor has no name of an input
? 2
$ viewfold run relu.onnx --check nowhere
! nowhere: error: cannot open the folder: No such file or directory; --check alone compares with the reference evaluator
? 2
$ viewfold run relu.onnx --check relu.onnx
! relu.onnx: error: not a folder
? 2
$ viewfold explain --no-run relu.onnx | head -1
graph @g: 1 kernel, 0 temporaries

== a file that is no model
$ printf 'graph @g' > text.onnx
$ viewfold run text.onnx
! text.onnx: error: [..]
? 2
$ viewfold run none.onnx
! none.onnx: error: cannot open the file: No such file or directory
? 2
$ printf '' > empty.onnx
$ viewfold run empty.onnx
! empty.onnx: error: the file is empty
? 2

== a model that is right for some sizes alone takes those of the arrays
$ printf '\010\010:B\012\016\012\001a\012\001b\022\001y"\003Add\022\001gZ\020\012\001a\022\013\012\011\010\001\022\005\012\003\022\001nZ\020\012\001b\022\013\012\011\010\001\022\005\012\003\022\001mb\011\012\001y\022\004\012\002\010\001B\004\012\000\020\021' > add.onnx
$ viewfold run add.onnx --in 'a=[1,2]' --in 'b=[3,4]'
y: f32[2] = [4.0, 6.0]
$ viewfold run add.onnx --in 'a=[1,2]' --in 'b=[3,4,5]'
! add.onnx: error: node of 'y' (Add, operator set 17; inputs 'a' f32[2], 'b' f32[3]): add: [..]
? 2
$ viewfold explain --no-run add.onnx
! add.onnx: error: node of 'y' (Add, operator set 17; inputs 'a' f32[n], 'b' f32[m]): add: [..]
? 2

== an input without a shape takes that of its array
$ printf '\010\010:\047\012\014\012\001x\022\001y"\004Relu\022\001gZ\011\012\001x\022\004\012\002\010\001b\011\012\001y\022\004\012\002\010\001B\004\012\000\020\021' > open.onnx
$ viewfold run open.onnx --in 'x=[[-1,2]]'
y: f32[1,2] = [[0.0, 2.0]]

== import does not write over the model
$ printf '\010\010\022\000:\063\012\014\012\001x\022\001y"\004Relu\022\001gZ\017\012\001x\022\012\012\010\010\001\022\004\012\002\010\002b\017\012\001y\022\012\012\010\010\001\022\004\012\002\010\002B\004\012\000\020\021' > copy.onnx
$ cp copy.onnx relu.onnx
$ viewfold import copy.onnx -o copy.onnx
! copy.onnx: error: it is a file of the model copy.onnx; give -o another name
? 2
$ cmp relu.onnx copy.onnx

== import writes a text, and no file that seems to be another
$ printf '\010\010\022\000:\063\012\014\012\001x\022\001y"\004Relu\022\001gZ\017\012\001x\022\012\012\010\010\001\022\004\012\002\010\002b\017\012\001y\022\012\012\010\010\001\022\004\012\002\010\002B\004\012\000\020\021' > copy.onnx
$ viewfold import copy.onnx -o new.onnx
! viewfold import: -o new.onnx: a graph is written as text, a .vf; a name that ends with .onnx would mislead
? 2
$ viewfold import copy.onnx -o new.vf --in n=3
! viewfold import: --in n: the model has no such input; it has x
? 2

== what a model declares of its outputs: another shape is said, another dtype is an error
$ printf '\010\010\022\000\072\062\012\013\012\001x\022\001y\042\003Neg\022\001gZ\017\012\001x\022\012\012\010\010\001\022\004\012\002\010\002b\017\012\001y\022\012\012\010\010\001\022\004\012\002\010\005B\004\012\000\020\021' > shape.onnx
$ viewfold run shape.onnx --in 'x=[1,2]'
! viewfold: import: the output 'y' is declared as f32[5], and what is computed is f32[2]
y: f32[2] = [-1.0, -2.0]
$ printf '\010\010\022\000\072\062\012\013\012\001x\022\001y\042\003Neg\022\001gZ\017\012\001x\022\012\012\010\010\001\022\004\012\002\010\002b\017\012\001y\022\012\012\010\010\006\022\004\012\002\010\002B\004\012\000\020\021' > dtype.onnx
$ viewfold run dtype.onnx --in 'x=[1,2]'
! dtype.onnx: error: the output 'y' is declared as i32[2], and what is computed is f32[2]; takes a declaration that fits
? 2

== a kernel is for the node, and not for the constants that the node reads first
$ printf '\010\010\072q\012\022\012\001x\012\001w\012\001b\022\001y"\004Gemm\022\001g\052\033\010\002\010\002\020\001B\001wJ\020\000\000\000\000\000\000\200\077\000\000\000\100\000\000\100\100\052\021\010\002\020\001B\001bJ\010\000\000\200\077\000\000\000\100Z\023\012\001x\022\016\012\014\010\001\022\010\012\002\010\001\012\002\010\002b\023\012\001y\022\016\012\014\010\001\022\010\012\002\010\001\012\002\010\002B\004\012\000\020\021' > gemm.onnx
$ viewfold dump --stage=kernels gemm.onnx | sed -n 4,5p
  for     %y = Gemm of 'y', node[0]
  fuses   reshape x2 expand permute reshape fma sum add
