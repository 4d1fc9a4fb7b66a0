# Files, pipes and devices without an end, or larger than any use of theirs.

== a device that never ends is read no further than its first byte that is no text
$ timeout 60 viewfold run /dev/zero
! /dev/zero:1:1: error: unexpected character, found '\x00', expected a name, a number or a sign
? 2
$ timeout 60 viewfold dump --stage=loops --schedule /dev/zero 'f32[4]'
! viewfold dump: schedule:1: a schedule is text, found a NUL byte in '/dev/zero'
? 2
$ timeout 60 viewfold run 'f32[4].flip(0)' --in x=/dev/zero
! /dev/zero: error: not a .npy file: it starts with 00 00 00 00 00 00; expected 93 4E 55 4D 50 59
? 2

== a pipe of a schedule has at most as many bytes as a schedule
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

== a line of JSON has a limit, and is not kept beyond it
@needs (ulimit -v 400000; viewfold --version)
$ (head -c 300000000 /dev/zero | tr '\0' '['; echo; echo '{"name":"t","base":[2],"ops":[]}') > lines
$ (ulimit -v 400000; viewfold index --json < lines)
{"name":null,"error":"line: found 300000000 bytes, expected at most 67108864"}
{"name":"t","shape":[2],"index":"ridx0","valid":"True"}
? 2

== a directory is no file
$ mkdir folder
$ viewfold run folder
! folder: error: cannot read the file: Is a directory
? 2
$ viewfold run 'f32[4].flip(0)' --in x=folder
! folder: error: cannot read the file: Is a directory
? 2
