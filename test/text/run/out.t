# Where results are written.
<<< two.vf
graph @two(%x: i8[2]) {
  %y = neg %x
  %z = abs %x
  return %y, %z
}
>>>

== one result to standard output, everything else to standard error
$ viewfold run two.vf --in x=[1,-2] --out y=- > y.npy
! z: i8[2] = [1, 2]
$ viewfold run 'i8[2].flip(0)' --in x=y.npy
y: i8[2] = [2, -1]
$ ls
two.vf
y.npy

== two results to one file, by whatever path
$ viewfold run two.vf --in x=[1,-2] --out y=a.npy --out z=./a.npy
! viewfold run: --out: two results go to a.npy, also written ./a.npy
! Try 'viewfold run --help'.
? 2
$ mkdir d; ln -s d e; viewfold run two.vf --in x=[1,-2] --out y=d/a.npy --out z=e/../e/a.npy
! viewfold run: --out: two results go to d/a.npy, also written e/../e/a.npy
! Try 'viewfold run --help'.
? 2
$ touch b.npy; ln -s b.npy c.npy; viewfold run two.vf --in x=[1,-2] --out y=c.npy --out z=b.npy
! viewfold run: --out: two results go to c.npy, also written b.npy
! Try 'viewfold run --help'.
? 2
$ viewfold run two.vf --in x=[1,-2] --out y=- --out z=-
! viewfold run: --out: two results go to -
! Try 'viewfold run --help'.
? 2
$ viewfold run two.vf --in x=[1,-2] --out y=a.npy --out z=d/a.npy
$ ls -A . d
.:
.cache
a.npy
b.npy
c.npy
d
e
two.vf
\
d:
a.npy

== an interrupted run leaves nothing behind
<<< slow.vf
graph @slow(%x: i64[1]) {
  %i = iota shape=[1099511627776] dtype=i64
  %e = expand %x shape=[1099511627776]
  %c = ge %i, %e
  %a = argmax %c axis=0
  return %a
}
>>>
$ viewfold run slow.vf --in x=[0] --out a=a.npy & pid=$!
> i=0; until ls .viewfold-*.tmp > seen 2> /dev/null || { ls -l /proc/$pid/fd | grep "$PWD/#" > seen; } || [ $i = 3000 ]; do i=$((i+1)); sleep 0.5; done
> kill -TERM $pid; { wait $pid; } 2> /dev/null; echo "status $?"; ls -A; wc -l < seen
status 143
.cache
seen
slow.vf
two.vf
1

== values that are no results
<<< inner.vf
graph @inner(%x: f32[4]) {
  %double = mul %x, 2.0  # comment
  %three, %four = split %double parts=2 axis=0
  %y = add %double, 1.0 : f32[4]
  return %y
}
>>>
$ viewfold run inner.vf --in x=[1,2,3,4] --out double=double.npy --out four=four.npy --out x=same.npy --check
y: f32[4] = [3.0, 5.0, 7.0, 9.0]
check y: 4 elements, bit-equal
check double: 4 elements, bit-equal
check four: 2 elements, bit-equal
check x: 4 elements, bit-equal
$ viewfold run 'f32[4].flip(0)' --in x=double.npy; viewfold run 'f32[2].flip(0)' --in x=four.npy
y: f32[4] = [8.0, 6.0, 4.0, 2.0]
y: f32[2] = [8.0, 6.0]
