# ONNX models where a graph is asked for. The models are bytes of the format, written by printf.

== a model with a symbolic size and a shape that is an input
$ printf '\010\010\022\000:x\012\020\012\001x\012\003two\022\001h"\003Mul\012\034\012\001h\012\005shape\022\001y\032\004fold"\007Reshape\022\001g*\015\020\001B\003twoJ\004\000\000\000@Z\024\012\001x\022\017\012\015\010\001\022\011\012\003\022\001n\012\002\010\004Z\023\012\005shape\022\012\012\010\010\007\022\004\012\002\010\002b\011\012\001y\022\004\012\002\010\001B\004\012\000\020\021' > scale.onnx
$ viewfold run scale.onnx --in 'x=[[1,2,3,4],[5,6,7,8]]' --in 'shape=[-1,2]'
y: f32[4,2] = [[2.0, 4.0], [6.0, 8.0], [10.0, 12.0], [14.0, 16.0]]
$ viewfold run scale.onnx --in 'x=[[1,2,3,4]]' --in 'shape=[-1]' --check
y: f32[4] = [2.0, 4.0, 6.0, 8.0]
check y: 4 elements, bit-equal
$ viewfold run scale.onnx --in 'x=[[1,2,3,4]]'
! scale.onnx: error: node 'fold' (Reshape, operator set 17; inputs 'h' f32[n,4], 'shape' i64[2]): shape is the model's input 'shape'; the importer must know its elements: give them as a fixed value of that input
? 3

== a model as text
$ printf '\010\010\022\000:x\012\020\012\001x\012\003two\022\001h"\003Mul\012\034\012\001h\012\005shape\022\001y\032\004fold"\007Reshape\022\001g*\015\020\001B\003twoJ\004\000\000\000@Z\024\012\001x\022\017\012\015\010\001\022\011\012\003\022\001n\012\002\010\004Z\023\012\005shape\022\012\012\010\010\007\022\004\012\002\010\002b\011\012\001y\022\004\012\002\010\001B\004\012\000\020\021' > scale.onnx
$ viewfold import scale.onnx -o scale.vf --in 'shape=[-1]'
$ cat scale.vf
graph @model(%x: f32[n=1..65536,4]) {
  %0 = mul %x, 2.0 : f32[n,4]
  %y = reshape %0 shape=[(n*4)] : f32[(n*4)]
  return %y
}
$ viewfold dump --stage=graph --graph model scale.vf | head -1
graph @model(%x: f32[n=1..65536,4]) {

== an operator that there is not is named with its node
$ printf '\010\010\022\000:\064\012\022\012\001x\022\001y\032\002u\061"\006Unbind\022\001gZ\020\012\001x\022\013\012\011\010\001\022\005\012\003\022\001nb\011\012\001y\022\004\012\002\010\001B\004\012\000\020\021' > unbind.onnx
$ viewfold run unbind.onnx --in 'x=[1]'
! unbind.onnx: error: node 'u1' (Unbind, operator set 17; inputs 'x' f32[n]): there is no operator Unbind of domain ''; takes the operators of ai.onnx that docs/onnx.md lists, and functions of the model
? 3

== a result whose size depends on an input is computed for the value that the input has
$ printf '\010\010\022\000:\064\012\022\012\001x\022\001y\032\002u\061"\006Unique\022\001gZ\020\012\001x\022\013\012\011\010\001\022\005\012\003\022\001nb\011\012\001y\022\004\012\002\010\001B\004\012\000\020\021' > unique.onnx
$ viewfold run unique.onnx --in 'x=[3,1,3,2]'
y: f32[3] = [1.0, 2.0, 3.0]
$ viewfold explain unique.onnx
! unique.onnx: error: node 'u1' (Unique, operator set 17; inputs 'x' f32[n]): the input is the model's input 'x'; the importer must know its elements: give them as a fixed value of that input
? 3

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
check y: FAILED: 1 of 2 elements differ from the expected ones
? 1
$ viewfold explain --no-run relu.onnx | head -1
graph @model: 1 kernel, 0 temporaries

== a file that is no model
$ printf 'graph @g' > text.onnx
$ viewfold run text.onnx
! text.onnx: error: [..]
? 2
$ viewfold run none.onnx
! none.onnx: error: cannot open the file: No such file or directory
? 2
