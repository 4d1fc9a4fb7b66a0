# Invalid files. After each command the directory is unchanged.
<<< double.vf
graph @double(%x: f32[4]) {
  %y = mul %x, 2.0
  return %y
}
>>>
<<< npy.sh
# npy.sh DESCR SHAPE BYTES: an array of zeros on standard output
printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
head -c "$3" /dev/zero
>>>

== a missing graph file
$ viewfold run nowhere.vf
! nowhere.vf: error: cannot open the file: No such file or directory
? 2

== a graph that is a folder
$ mkdir graphs.vf && viewfold run graphs.vf
! graphs.vf: error: cannot read the file: Is a directory
? 2

== a graph that is empty
$ : > empty.vf; viewfold run empty.vf
! empty.vf:1:1: error: nothing to read, found the end of the text, expected 'graph @NAME(...) { ... }'
? 2

== a graph that is an array
$ sh npy.sh '<f4' '(4,)' 16 > x.npy; viewfold run x.npy
! x.npy: error: it is an array of NumPy, not a text of graphs; graphs are given arrays, as in --in x=FILE.npy
? 2

== a graph of bytes
$ printf '\377\000\001' > bytes.vf; viewfold run bytes.vf
! bytes.vf:1:1: error: unexpected character, found '\xff', expected text; is this a file of another kind?
? 2

== standard input holds no graph
$ viewfold run -
! <stdin>:1:1: error: nothing to read, found the end of the text, expected 'graph @NAME(...) { ... }'
? 2

== a missing array file
$ viewfold run double.vf --in x=x.npy --out y=y.npy
! x.npy: error: cannot open the file: No such file or directory
? 2
$ ls
double.vf
npy.sh

== an array that may not be read
@needs test "$(id -u)" != 0
$ sh npy.sh '<f4' '(4,)' 16 > x.npy; chmod 0 x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: cannot open the file: Permission denied
? 2

== an empty file
$ : > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: the file is empty; expected a .npy file
? 2

== text
$ echo 1 2 3 4 > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: not a .npy file: it starts with 31 20 32 20 33 20 (text: numpy.loadtxt reads its numbers, and numpy.save writes .npy); expected 93 4E 55 4D 50 59
? 2

== an archive of arrays
$ printf 'PK\003\004rest of the archive' > x.npz; viewfold run double.vf --in x=x.npz
! x.npz: error: not a zip archive as of .npz: there is no end of a directory
? 2

== a file cut short in its first bytes
$ printf '\223NUMPY\001' > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: the file ends after 7 bytes; expected the 10 bytes that precede a header
? 2

== an unknown version
$ printf '\223NUMPY\011\000v\000' > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: the .npy version is 9.0; expected 1.0, 2.0 or 3.0
? 2

== a header cut short
$ printf '\223NUMPY\001\000v\000{' > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: the header is 118 bytes long, but 1 byte follows; expected a whole header
? 2

== a header that is not a dictionary
$ printf '\223NUMPY\001\000\005\000oops\n' > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: the header has oops at byte 10; expected a dict, which starts with '{'
? 2

== a header with an entry too few
$ printf '\223NUMPY\001\000\026\000%s\n' "{'descr': '<f4', }   " > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: the header has no key 'fortran_order'; expected the keys 'descr', 'fortran_order' and 'shape'
? 2

== a negative size
$ sh npy.sh '<f4' '(-4,)' 16 > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: 'shape' has the size -4 in axis 0; expected 0 or more
? 2

== data cut short
$ sh npy.sh '<f4' '(4,)' 15 > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: the data has 15 bytes; expected 16 for shape (4,) of f32
? 2

== more data than the shape takes
$ sh npy.sh '<f4' '(4,)' 17 > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: the data has 17 bytes; expected 16 for shape (4,) of f32
? 2

== a shape that no memory holds
$ sh npy.sh '<f4' '(4611686018427387904, 4)' 16 > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: an array of shape (4611686018427387904, 4) and dtype f32 is too large; expected at most 9223372036854775807 bytes
? 2

== a size that no integer holds
$ sh npy.sh '<f4' '(99999999999999999999,)' 16 > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: 'shape' has the size 99999999999999999999 in axis 0; expected at most 9223372036854775807
? 2

== a terabyte in the header, sixteen bytes in the file
$ sh npy.sh '<f4' '(274877906944,)' 16 > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: the data has 16 bytes; expected 1099511627776 for shape (274877906944,) of f32
? 2

== an array of Python objects
$ sh npy.sh '|O' '(4,)' 16 > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: 'descr' is '|O' (Python objects); expected one of |b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <V2 <f4 <f8, or > for <
? 2

== complex numbers
$ sh npy.sh '<c8' '(4,)' 32 > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: 'descr' is '<c8' (complex numbers); expected one of |b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <V2 <f4 <f8, or > for <
? 2

== more axes than a tensor has
$ sh npy.sh '<f4' '(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)' 4 > x.npy; viewfold run double.vf --in x=x.npy
! x.npy: error: 'shape' has more than 16 axes; expected at most 16
? 2

== the wrong dtype
$ sh npy.sh '<f8' '(4,)' 32 > x.npy; viewfold run double.vf --in x=x.npy
! viewfold run: %x is f32[4], but x.npy holds f64[4]: the dtypes differ; convert the file to f32
? 2

== the wrong number of axes
$ sh npy.sh '<f4' '(2, 2)' 16 > x.npy; viewfold run double.vf --in x=x.npy
! viewfold run: %x is f32[4], but x.npy holds f32[2,2]: 2 axes found, 1 expected
? 2

== the wrong size
$ sh npy.sh '<f4' '(5,)' 20 > x.npy; viewfold run double.vf --in x=x.npy
! viewfold run: %x is f32[4], but x.npy holds f32[5]: axis 0 has to be 4
? 2

== a result into a missing folder
$ viewfold run double.vf --in x=[1,2,3,4] --out y=none/y.npy
! none/y.npy: error: cannot write to its folder: No such file or directory
? 2
$ ls -A
.cache
double.vf
npy.sh

== a result that is a folder
$ mkdir y.npy; viewfold run double.vf --in x=[1,2,3,4] --out y=y.npy
! y.npy: error: cannot open the file for writing: Is a directory
? 2
$ ls -A . y.npy
.:
.cache
double.vf
npy.sh
y.npy
\
y.npy:

== a result below a file
$ viewfold run double.vf --in x=[1,2,3,4] --out y=double.vf/y.npy
! double.vf/y.npy: error: cannot open the file for writing: Not a directory
? 2
$ head -1 double.vf
graph @double(%x: f32[4]) {

== a full disk
@needs test -w /dev/full
$ viewfold run double.vf --in x=[1,2,3,4] --out y=/dev/full
! /dev/full: error: cannot write the file: No space left on device
? 2

== standard output that cannot be written
@needs test -w /dev/full
$ viewfold run double.vf --in x=[1,2,3,4] > /dev/full
! viewfold: writing to standard output: No space left on device
? 2

== one bad result of two leaves neither
<<< two.vf
graph @two(%x: f32[4]) {
  %y = mul %x, 2.0
  %z = add %x, 1.0
  return %y, %z
}
>>>
$ viewfold run two.vf --in x=[1,2,3,4] --out y=y.npy --out z=none/z.npy
! none/z.npy: error: cannot write to its folder: No such file or directory
? 2
$ ls -A
.cache
double.vf
npy.sh
two.vf

== a failed run leaves existing files unchanged
<<< pick.vf
graph @pick(%x: f32[4], %i: i32[2]) {
  %y = gather %x, %i axis=0
  return %y
}
>>>
$ echo before > y.npy
$ viewfold run pick.vf --in x=[1,2,3,4] --in i=[0,4] --out y=y.npy
! viewfold run: graph @pick: gather %x, %i axis=0: %i[1] is 4, but axis 0 of %x has 4 elements (pick.vf:2); indices are -4 to 3, or any with mode="clip" or mode="fill". The results are unspecified
? 2
$ cat y.npy; ls -A
before
.cache
double.vf
npy.sh
pick.vf
y.npy
