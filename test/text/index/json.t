# viewfold index --json: a stream of chains.

== one line of output for each line of input
<<< chains
{"name":"t","base":[3,2],"ops":[["permute",[1,0]],["reshape",[3,2]]]}
{"name":"p","base":[3],"ops":[["pad",[[2,1]]]]}

{"name":"all","base":[1,4],"ops":[["expand",[3,4]],["shrink",[[0,2],[1,4]]],["flip",[0,1]],["stride",[1,-2]]]}
{"name":"scalar","base":[],"ops":[["flip",[]],["reshape",[1,1]]]}
{"name":"empty","base":[2,0],"ops":[]}
>>>
$ viewfold index --json < chains
{"name":"t","shape":[3,2],"index":"(ridx1+((ridx1-ridx0)%5))","valid":"True"}
{"name":"p","shape":[6],"index":"(ridx0+-2)","valid":"((ridx0>=2)&(ridx0<5))"}
{"name":"all","shape":[2,2],"index":"((ridx1*2)+1)","valid":"True"}
{"name":"scalar","shape":[1,1],"index":"0","valid":"True"}
{"name":"empty","shape":[2,0],"index":"0","valid":"False"}

== textbook rules on a stream
$ echo '{"name":"p","base":[3],"ops":[["pad",[[2,1]]]]}' | viewfold index --json --raw
{"name":"p","shape":[6],"index":"(ridx0+-2)","valid":"((ridx0<5)&((ridx0<2)!=True))"}

== a last line without a newline is read, and unknown members are ignored
$ printf '{"name":"a\\u00e9","ops":[],"base":[2],"map":[0,1],"more":{}}' | viewfold index --json
{"name":"aé","shape":[2],"index":"ridx0","valid":"True"}

== bad lines do not stop the stream
<<< chains
{"name":"good","base":[2],"ops":[]}
{"name":"unfinished","base":[2],
{"name":"shape","base":[3,2],"ops":[["reshape",[2,3]],["reshape",[4,2]]]}
{"name":"rank","base":[3,1],"ops":[["expand",[3]]]}
{"name":"unknown","base":[3,1],"ops":[["pemute",[1,0]]]}
{"name":"also good","base":[2,2],"ops":[["permute",[1,0]]]}
>>>
$ viewfold index --json < chains
{"name":"good","shape":[2],"index":"ridx0","valid":"True"}
{"name":null,"error":"not JSON: column 32: string or '}' expected near end of file"}
{"name":"shape","error":"ops[1]: reshape: shape [4,2] has 8 elements; x has shape f32[2,3], 6 elements; a reshape keeps their number"}
{"name":"rank","error":"ops[0]: expand: 1 size given; x has shape f32[3,1]; each of its 2 axes takes one, and broadcast_to adds leading axes"}
{"name":"unknown","error":"ops[0]: unknown view 'pemute'; did you mean permute?"}
{"name":"also good","shape":[2,2],"index":"(ridx0+(ridx1*2))","valid":"True"}
? 2

== wrong types
<<< chains
7
[]
"text"
{}
{"name":5,"base":[2],"ops":[]}
{"name":"a","base":2,"ops":[]}
{"name":"b","base":[2.0],"ops":[]}
{"name":"c","base":["2"],"ops":[]}
{"name":"d","base":[true],"ops":[]}
{"name":"e","base":[-2],"ops":[]}
{"name":"f","base":[2]}
{"name":"g","base":[2],"ops":{}}
{"name":"h","base":[2],"ops":[7]}
{"name":"i","base":[2],"ops":[["flip"]]}
{"name":"j","base":[2],"ops":[["flip",0]]}
{"name":"k","base":[2],"ops":[["flip",["0"]]]}
{"name":"l","base":[2],"ops":[["flip",[[0,0]]]]}
{"name":"m","base":[2],"ops":[["pad",[1,1]]]}
{"name":"n","base":[2],"ops":[["pad",[[1,1,1]]]]}
{"name":"o","base":[2],"ops":[["pad",[[1,[1]]]]]}
{"name":"p","base":[2],"ops":[["unsqueeze",[0]]]}
{"name":"q","base":[2],"ops":[["flip",[0],[0]]]}
>>>
$ viewfold index --json < chains
{"name":null,"error":"not JSON: column 1: '[' or '{' expected near '7'"}
{"name":null,"error":"line: found a list, expected an object with name, base and ops"}
{"name":null,"error":"not JSON: column 6: '[' or '{' expected near '\"text\"'"}
{"name":null,"error":"base: found nothing, expected a list of sizes"}
{"name":null,"error":"name: found an integer, expected a string"}
{"name":"a","error":"base: found an integer, expected a list of sizes"}
{"name":"b","error":"base: found a float, expected a list of integers"}
{"name":"c","error":"base: found a string, expected a list of integers"}
{"name":"d","error":"base: found true, expected a list of integers"}
{"name":"e","error":"input: size -2 of axis 0 in shape [-2] is negative; every size must be >= 0"}
{"name":"f","error":"ops: found nothing, expected a list of [\"name\",[...]]"}
{"name":"g","error":"ops: found an object, expected a list of [\"name\",[...]]"}
{"name":"h","error":"ops[0]: found an integer, expected [\"name\",[...]]"}
{"name":"i","error":"ops[0]: found a list, expected [\"name\",[...]]"}
{"name":"j","error":"ops[0]: flip: found an integer, expected a list"}
{"name":"k","error":"ops[0]: flip: found a string, expected integers"}
{"name":"l","error":"ops[0]: flip: found a list, expected integers"}
{"name":"m","error":"ops[0]: pad: attribute pads holds 1; it is a list of pairs [before,after], such as [[1,1],[0,2]]"}
{"name":"n","error":"ops[0]: pad: found a list of 3, expected a pair"}
{"name":"o","error":"ops[0]: pad: found a list, expected integers"}
{"name":"p","error":"ops[0]: unsupported view 'unsqueeze', expected permute, reshape, expand, pad, shrink, flip or stride"}
{"name":"q","error":"ops[0]: found a list, expected [\"name\",[...]]"}
? 2

== hostile input
$ { printf '{"name":"x","base":'; printf '%100000s' | tr ' ' '['; } | viewfold index --json
{"name":null,"error":"not JSON: column 2067: maximum parsing depth reached near '['"}
? 2
$ printf '{"name":"x","base":[123456789012345678901234567890],"ops":[]}\n' | viewfold index --json
{"name":null,"error":"not JSON: column 50: too big integer"}
? 2
$ printf '{"name":"x","base":[4294967296,4294967296],"ops":[]}\n' | viewfold index --json
{"name":"x","error":"input: a result of shape f32[4294967296,4294967296] is too large; its bytes must number less than 2^63"}
? 2
$ printf '{"name":"x","base":[9223372036854775807],"ops":[]}\n' | viewfold index --json
{"name":"x","error":"input: a result of shape f32[9223372036854775807] is too large; its bytes must number less than 2^63"}
? 2
$ printf '{"name":"x","base":[2],"ops":[["pad",[[9223372036854775807,9223372036854775807]]]]}\n' | viewfold index --json
{"name":"x","error":"ops[0]: pad: pads [9223372036854775807,9223372036854775807] of axis 0 are too large; x has shape f32[2]; sizes are less than 2^63"}
? 2
$ printf '{"name":"x","base":[2],"ops":[["stride",[-9223372036854775808]]]}\n' | viewfold index --json
{"name":"x","error":"ops[0]: stride: step -9223372036854775808 of axis 0 is not possible; x has shape f32[2]; a step is a constant integer other than 0"}
? 2
$ printf '{"name":"\377","base":[2],"ops":[]}\n' | viewfold index --json
{"name":null,"error":"not JSON: column 9: unable to decode byte 0xff near '\"'"}
? 2
$ printf '{"name":"x\000y","base":[2],"ops":[]}\n' | viewfold index --json
{"name":null,"error":"not JSON: column 10: control character 0x0 near '\"x'"}
? 2
$ printf '{"name":"x","base":[2],"base":[3],"ops":[]}\n' | viewfold index --json
{"name":null,"error":"not JSON: column 29: duplicate object key near '\"base\"'"}
? 2
$ printf '{"name":"x","base":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"ops":[]}\n' | viewfold index --json
{"name":"x","error":"base: found 17 sizes, expected at most 16"}
? 2
$ printf '{"name":"x","base":[2],"ops":[["\\u0000flip",[0]]]}\n' | viewfold index --json
{"name":null,"error":"not JSON: column 43: \\u0000 is not allowed without JSON_ALLOW_NUL near '\"\\u0000flip\"'"}
? 2

== an empty stream is no error
$ printf '' | viewfold index --json

== output that cannot be written is an error
@needs test -e /dev/full
$ echo '{"name":"t","base":[2],"ops":[]}' | viewfold index --json > /dev/full
! viewfold: writing to standard output: No space left on device
? 2
