# Schedules: loops shaped by moves that the user gives.
<<< product.vf
graph @product(%a: f32[30,8], %b: f32[8,40]) {
  %y = matmul %a, %b
  return %y
}
>>>
<<< whole.txt
# rows of a tile, then its columns
kernel 0 nest 0: split a0 6; split a1 16; split a1 4; reorder a1.0 a0.0; thread a1.0; unroll a0.1 a1.1; vector a1.2
>>>

== the applied moves are printed, and shape the loops
$ viewfold dump --stage=loops --target 'vector_bytes=16 registers=32' --schedule whole.txt product.vf > loops
$ grep -e '# kernel' loops
\# kernel 0 nest 0: split a0 6; split a1 16; split a1 4; reorder a1.0 a0.0 a0.1 a1.1 a1.2; unroll a0.1 a1.1; vector a1.2; thread a1.0
$ grep -o 'for .* in .* ' loops | head -6 | sed 's, *$,,'
for ridx5 in 0..2 thread
for ridx6 in 0..5
for ridx10 in 0..6 unroll
for ridx11 in 0..4 unroll
for ridx12 in 0..4 vector
for ridx13 in 0..8 with %7 = f32(0.0)

== what is printed is a schedule
$ viewfold dump --stage=loops product.vf > model
$ grep '# kernel' model > again.txt
$ viewfold dump --stage=loops --schedule again.txt product.vf | cmp - model

== results do not change
$ cat > a.txt <<'END'
> kernel 0 nest 0: tile a0 7 a1 12; split a1 4; thread a0.0 a1.0; unroll a0.1; vector a1.2
> END
$ for s in whole.txt a.txt; do viewfold run --check --schedule $s product.vf --in a=$(python3 -c 'print([[i*j%7 for j in range(8)] for i in range(30)])' | tr -d ' ') --in b=$(python3 -c 'print([[i*j%5-2 for j in range(40)] for i in range(8)])' | tr -d ' ') | grep check; done
check y: 1200 elements, bit-equal
check y: 1200 elements, bit-equal

== invalid moves
$ echo 'kernel 0 nest 0: split a2 4' > bad.txt
$ viewfold dump --stage=loops --schedule bad.txt product.vf
! viewfold dump: schedule:1: kernel 0 nest 0: `split a2 4`: there is no such axis[..]
? 2
$ echo 'kernel 0 nest 0: vector a1' > bad.txt
$ viewfold run --schedule bad.txt product.vf --in a=0 --in b=0
! [..]
? 2
$ echo 'kernel 0 nest 0: split a0 6; split a1 64; thread a0.1' > bad.txt
$ viewfold dump --stage=loops --schedule bad.txt product.vf
! viewfold dump: schedule:1: kernel 0 nest 0: `split a0 6; split a1 64; thread a0.1`: thread levels must be the outermost levels of their axes, outside all other levels; [..]
? 2

<<< triangle.vf
graph @triangle(%x: f64[5,6,2]) {
  %p = permute %x order=[2,1,0]
  %l = tril %p
  %y = log1p %l
  return %y
}
>>>
$ echo 'kernel 0 nest 0: reorder a0 a2 a1' > bad.txt
$ viewfold dump --stage=loops --schedule bad.txt triangle.vf
! viewfold dump: [..]: the extent of an axis depends on an axis whose loop is inside it; [..]
? 2

== invalid lines
$ echo 'nest 0: split a0 6' > bad.txt
$ viewfold dump --stage=loops --schedule bad.txt product.vf
! viewfold dump: schedule:1: a line is `kernel NUMBER nest NUMBER: MOVES`, found 'nest 0: split a0 6'
? 2
$ echo 'kernel 1 nest 0: split a0 6' > bad.txt
$ viewfold dump --stage=loops --schedule bad.txt product.vf > loops
! viewfold dump: schedule:1: the graph has no kernel 1 with a nest 0; `viewfold dump --stage=loops` prints a line for each that it has
? 2

== every element is stored, whatever axis the vector lanes are along
<<< rows.vf
graph @rows(%s: i32[]) {
  %i = iota shape=[2,24] axis=1 dtype=i32
  %y = mul %i, %s
  return %y
}
>>>
<<< rows.loops
kernel 0 nest 0: split a0 2; reorder a0.0 a1 a0.1; vector a0.1
>>>
$ viewfold run rows.vf --in s=3 --schedule rows.loops --check
y: i32[2,24] min 0 max 69 mean 34.5 first 0 3 6 9 12 15 ...
[...]

== updates that may collide stay in order
<<< last.vf
graph @last(%x: f32[4], %i: i32[2,3], %v: f32[2,3]) {
  %t = permute %i order=[1,0]
  %w = permute %v order=[1,0]
  %y = scatter %x, %t, %w axis=0
  return %y
}
>>>
$ viewfold run last.vf --in x=[0,0,0,0] --in 'i=[[0,1,2],[1,2,0]]' --in 'v=[[1,2,3],[4,5,6]]' --check
y: f32[4] = [6.0, 2.0, 3.0, 0.0]
check y: 4 elements, bit-equal
$ echo 'kernel 1 nest 0: reorder a1 a0' > swapped.txt
$ viewfold run last.vf --in x=[0,0,0,0] --in 'i=[[0,1,2],[1,2,0]]' --in 'v=[[1,2,3],[4,5,6]]' --schedule swapped.txt
! viewfold run: schedule:1: kernel 1 nest 0: `reorder a1 a0`: updates along these axes may write the same element, so the axes must stay in order; [..]
? 2

== a schedule that no loops can be made of is an error before anything is compiled
<<< rows.vf
graph @sum(%x: f32[37,501]) {
  %y = sum %x axes=[1]
  return %y
}
graph @argmax(%x: f32[37,501]) {
  %y = argmax %x axis=1
  return %y
}
graph @softmax(%x: f32[37,96]) {
  %y = softmax %x axis=-1
  return %y
}
>>>
<<< lanes.txt
# vector lanes along rows whose terms have vector lanes
kernel 0 nest 0: split a0 16; vector a0.1
>>>
$ python3 -c 'import sys; print([[i*j%7 for j in range(501)] for i in range(37)])' | tr -d ' ' > x
$ for g in sum argmax; do viewfold run --graph $g --in x=$(cat x) --schedule lanes.txt rows.vf; echo $?; done
2
2
! viewfold run: schedule:2: kernel 0 nest 0: `split a0 16; vector a0.1`: vector lanes already run along the terms of a reduction, whose order must not change; [..]
! viewfold run: schedule:2: kernel 0 nest 0: `split a0 16; vector a0.1`: vector lanes already run along the terms of a reduction, whose order must not change; [..]
$ viewfold dump --graph argmax --stage=loops --schedule lanes.txt rows.vf
! viewfold dump: schedule:2: kernel 0 nest 0: `split a0 16; vector a0.1`: vector lanes already run along the terms of a reduction, whose order must not change; [..]
? 2
$ sed 's/nest 0/nest 1/; s/16/8/' lanes.txt > softmax.txt
$ viewfold dump --graph softmax --stage=loops --schedule softmax.txt rows.vf
! viewfold dump: schedule:2: kernel 0 nest 1: [..]
? 2

== schedules are text files with one line for each nest
$ printf '# rows\r\nkernel 0 nest 0: split a0 6; unroll a0.1\r\n\r\n' > crlf.txt
$ viewfold dump --stage=loops --schedule crlf.txt product.vf | grep '# kernel'
\# kernel 0 nest 0: split a0 6; unroll a0.1
$ printf '# rows\nkernel 0 nest 0: split a0 6\0; unroll a0.1\n' > nul.txt
$ viewfold dump --stage=loops --schedule nul.txt product.vf
! viewfold dump: schedule:2: a schedule is text, found a NUL byte in 'nul.txt'
? 2
$ printf 'kernel 0 nest 0: split a0 6\nkernel 0 nest 0: split a0 3\n' > twice.txt
$ viewfold dump --stage=loops --schedule twice.txt product.vf
! viewfold dump: schedule:2: kernel 0 nest 0 has its moves in line 1; one line for each nest
? 2
$ for n in 4294967296 -1; do echo "kernel $n nest 0: split a0 6" > bad.txt; viewfold dump --stage=loops --schedule bad.txt product.vf; echo $?; done
2
2
! viewfold dump: schedule:1: a line is `kernel NUMBER nest NUMBER: MOVES`, found 'kernel 4294967296 nest 0: split a0 6'
! viewfold dump: schedule:1: a line is `kernel NUMBER nest NUMBER: MOVES`, found 'kernel -1 nest 0: split a0 6'
$ for n in 9223372036854775808 2147483648; do echo "kernel 0 nest 0: split a0 $n" > bad.txt; viewfold dump --stage=loops --schedule bad.txt product.vf; echo $?; done
2
2
! viewfold dump: schedule:1: kernel 0 nest 0: `split a0 9223372036854775808`: [..] from 2 to 2147483647; [..]
! viewfold dump: schedule:1: kernel 0 nest 0: `split a0 2147483648`: [..] from 2 to 2147483647; [..]
