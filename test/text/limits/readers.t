# Files, pipes and devices that are endless or too large.

== a device without an end is read up to the first byte that is not text
$ timeout 60 viewfold run /dev/zero
! /dev/zero:1:1: error: unexpected character, found '\x00', expected text; is this a file of another kind?
? 2
$ timeout 60 viewfold dump --stage=loops --schedule /dev/zero 'f32[4]'
! viewfold dump: schedule:1: a schedule is text, found a NUL byte in '/dev/zero'
? 2
$ timeout 60 viewfold run 'f32[4].flip(0)' --in x=/dev/zero
! /dev/zero: error: not a .npy file: it starts with 00 00 00 00 00 00; expected 93 4E 55 4D 50 59; numbers alone are read by numpy.fromfile, and numpy.save writes .npy
? 2

== a schedule from a pipe has the same limit of bytes as one from a file
$ yes 'kernel 0 nest 0: ' | viewfold dump --stage=loops --schedule /dev/stdin 'f32[4]'
! /dev/stdin: error: the file has more than 16777216 bytes, which is the limit for its kind
? 2

== a file that is too large is not read at all
$ truncate -s 1073741825 large.vf
$ viewfold run large.vf
! large.vf: error: the file has more than 1073741824 bytes, which is the limit for its kind
? 2
$ viewfold dump --stage=loops --schedule large.vf 'f32[4]'
! large.vf: error: the file has more than 16777216 bytes, which is the limit for its kind
? 2

== a line of JSON has a limit, and longer ones are not kept in memory
@needs (ulimit -v 400000; viewfold --version)
$ (head -c 300000000 /dev/zero | tr '\0' '['; echo; echo '{"name":"t","base":[2],"ops":[]}') > lines
$ (ulimit -v 400000; viewfold index --json < lines)
{"name":null,"error":"line: found 300000000 bytes, expected at most 67108864"}
{"name":"t","shape":[2],"index":"ridx0","valid":"True"}
? 2

== an array larger than the machine's memory is refused by its header, before its data are read
$ (printf '\223NUMPY\001\000\166\000'
>  printf "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000000,), }%*s\n" 45 '') > header
$ cat header | viewfold run 'f32[4].flip(0)' --in x=/dev/stdin
! /dev/stdin: error: the header says 4000000000000000 bytes of data; this machine has [..] bytes of memory
? 3

== a directory is not a file
$ mkdir folder
$ viewfold run folder
! folder: error: cannot read the file: Is a directory
? 2
$ viewfold run 'f32[4].flip(0)' --in x=folder
! folder: error: cannot read the file: Is a directory
? 2

== index arithmetic of more than 64 bits
<<< wide.vf
index @w(p0: f32[4], p1: f32[4]) {
  range ridx0 in 0..4611686018427387904
  %0 = load p1[((ridx0*3)//4611686018427387904)] : f32
  store p0[(ridx0//4611686018427387904)] = %0
}
>>>
$ viewfold pass loops wide.vf
! viewfold pass: a kernel's index arithmetic needs more than 64 bits; store a value in between
? 3

== the number of rows is a difference whose bounds no 64 bits hold: kernels compute it in 64 bits, as it is of real sizes
<<< rows.vf
graph @g(%x: bf16[((m=16..4294967296:16)//8)*(m//16)*(((n=3..2147483659)+1)//2),8], %of: bool[1,8], %y: bf16[(m//16)*(m//8)*((n+1)//2),8]) {
  %r = where %of, %y, %x
  return %r
}
>>>
$ viewfold run rows.vf --threads 1 --size n=4 --in 'of=[[true,false,true,false,false,false,true,true]]' --in 'x=[[1,2,3,4,5,6,7,8],[9,10,11,12,13,14,15,16],[17,18,19,20,21,22,23,24],[25,26,27,28,29,30,31,32]]' --in 'y=[[-1,-2,-3,-4,-5,-6,-7,-8],[-9,-10,-11,-12,-13,-14,-15,-16],[-17,-18,-19,-20,-21,-22,-23,-24],[-25,-26,-27,-28,-29,-30,-31,-32]]' --size m=16
r: bf16[4,8] min -32.0 max 30.0 mean -0.25 first -1.0 2.0 -3.0 4.0 5.0 6.0 ...
