# Constants that are in files: `data file=`. w.safetensors holds w, f32[2,3] of 1 to 6, and i, i16[2] of 7 and -8.
<<< w.vf
graph @g(%x: f32[2,3]) {
  %w = data file="d/w.safetensors" name="w"
  %i = data file="d/w.safetensors" name="i" shape=[2] dtype=i16
  %c = cast %i dtype=f32
  %p = mul %x, %w
  %s = sum %p axes=[1]
  %y = add %s, %c
  return %y
}
>>>
<<< make.sh
mkdir -p d
{ printf '\160\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},'
  printf '"i":{"dtype":"I16","shape":[2],"data_offsets":[24,28]}}'
  printf '\0\0\200\077\0\0\0\100\0\0\100\100\0\0\200\100\0\0\240\100\0\0\300\100\7\0\370\377'; } > d/w.safetensors
>>>

== a constant from a file beside that of the graph
$ sh make.sh
$ viewfold run w.vf --in 'x=[[1,1,1],[1,1,1]]' --check
y: f32[2] = [13.0, 7.0]
check y: 2 elements, bit-equal
$ mkdir other; cd other; viewfold run ../w.vf --in 'x=[[2,2,2],[1,1,1]]'; cp ../w.vf .
y: f32[2] = [19.0, 7.0]
$ cd other; viewfold run w.vf --in 'x=[[2,2,2],[1,1,1]]'
! w.vf:2:3: error: d/w.safetensors: cannot open the file: No such file or directory
? 2
$ viewfold run - --in 'x=[[1,1,1],[1,1,1]]' < w.vf
y: f32[2] = [13.0, 7.0]

== a graph prints the file that it names, and the key of its program does not hold it
$ sh make.sh
$ viewfold dump --stage=graph w.vf
graph @g(%x: f32[2,3]) {
  %0 = data file="d/w.safetensors" name="w" : f32[2,3]
  %1 = data file="d/w.safetensors" name="i" : i16[2]
  %2 = cast %1 dtype=f32 : f32[2]
  %3 = mul %x, %0 : f32[2,3]
  %4 = sum %3 axes=[1] : f32[2]
  %y = add %4, %2 : f32[2]
  return %y
}
$ viewfold dump --stage=graph w.vf > again.vf; viewfold dump --stage=graph again.vf | diff again.vf - && viewfold run again.vf --in 'x=[[1,1,1],[1,1,1]]'
y: f32[2] = [13.0, 7.0]
$ viewfold cache stat | sed -n 's/^\(code\|plan\) *\([0-9]*\) .*/\1 \2/p'
code 1
plan 1
$ cp d/w.safetensors d/v.safetensors; sed s,/w,/v, w.vf > v.vf; viewfold run v.vf --in 'x=[[1,1,1],[1,1,1]]'; viewfold cache stat | sed -n 's/^\(code\|plan\) *\([0-9]*\) .*/\1 \2/p'
y: f32[2] = [13.0, 7.0]
code 1
plan 1

== another file, and another array
$ sh make.sh
$ sed 's/name="w"/name="v"/' w.vf | viewfold run - --in 'x=[[1,1,1],[1,1,1]]'
! <stdin>:2:3: error: d/w.safetensors: there is no array `v`; the file holds 2: w, i
? 2
$ sed 's/shape=.2./shape=[3]/' w.vf | viewfold run - --in 'x=[[1,1,1],[1,1,1]]'
! <stdin>:3:3: error: d/w.safetensors: array `i` is i16[2] (I16); i16[3] is declared
? 2
$ sed 's,d/w,d/none,' w.vf | viewfold dump --stage=graph -
! <stdin>:2:3: error: d/none.safetensors: cannot open the file: No such file or directory
? 2
$ printf nonsense > d/w.safetensors; viewfold dump --stage=graph w.vf
! w.vf:2:3: error: d/w.safetensors: no file of arrays by its first bytes; expected safetensors, .npz, .npy or GGUF
? 2

== elements are part of no plan: another file of the same shapes runs the same code
$ sh make.sh
$ viewfold run w.vf --in 'x=[[1,1,1],[1,1,1]]'
y: f32[2] = [13.0, 7.0]
$ printf '\0\0\200\077' | dd of=d/w.safetensors bs=1 seek=124 conv=notrunc 2>&1 | grep -c records
2
$ VIEWFOLD_COMPILE=0 viewfold run w.vf --in 'x=[[1,1,1],[1,1,1]]'
y: f32[2] = [12.0, 7.0]

== arrays of a file as inputs
$ sh make.sh
$ viewfold run 'f32[2,3].permute(1,0)' --in x=d/w.safetensors:w
y: f32[3,2] = [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
$ viewfold run 'i16[2]' --in x=d/w.safetensors:i
y: i16[2] = [7, -8]
$ viewfold run 'f32[2,3]' --in x=d/w.safetensors
! d/w.safetensors: error: the file holds 2 arrays; name one of them: w, i
? 2
$ viewfold run 'f32[2,3]' --in x=d/w.safetensors:none
! d/w.safetensors: error: there is no array `none`; the file holds 2: w, i
? 2
$ viewfold run 'f32[3,2]' --in x=d/w.safetensors:w
! viewfold run: %x is f32[3,2], but d/w.safetensors:w holds f32[2,3]: axis 0 has to be 3
? 2

== arrays at offsets of any file, aligned or not
$ printf 'abcd\0\0\200\077\0\0\0\100e\0\0\100\100\7\0' > any.bin
<<< b.vf
graph @b() {
  %x = data file="any.bin" offset=4 shape=[2] dtype=f32
  %y = data file="any.bin" offset=13 shape=[1] dtype=f32
  %z = data file="any.bin" offset=15 shape=[4] dtype=bool
  return %x, %y, %z
}
>>>
$ viewfold run b.vf --check
x: f32[2] = [1.0, 2.0]
y: f32[1] = [3.0]
z: bool[4] = [true, true, true, false]
check x: 2 elements, bit-equal
check y: 1 element, bit-equal
check z: 4 elements, bit-equal
$ viewfold dump --stage=graph b.vf
graph @b() {
  %x = data file="any.bin" offset=4 shape=[2] dtype=f32 : f32[2]
  %y = data file="any.bin" offset=13 shape=[1] dtype=f32 : f32[1]
  %z = data file="any.bin" offset=15 shape=[4] dtype=bool : bool[4]
  return %x, %y, %z
}
$ printf 'abc' > any.bin; viewfold run b.vf
! b.vf:2:3: error: any.bin: the file has 3 bytes; the array at byte 4 does not lie in it
? 2
