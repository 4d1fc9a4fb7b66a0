# `viewfold run`: arrays in, arrays out.
<<< blur.vf
# the mean of the rows above and below
graph @blur(%x: f32[4,3]) {
  %p = pad %x pads=[[1,1],[0,0]]
  %a = shrink %p bounds=[[0,4],[0,3]]
  %b = shrink %p bounds=[[2,6],[0,3]]
  %s = add %a, %b
  %h = mul %s, 0.5
  return %h
}
>>>
<<< count.vf
graph @count() {
  %i = iota shape=[4,3] axis=0 dtype=f32
  %j = iota shape=[4,3] axis=1 dtype=f32
  %t = mul %i, 10.0
  %x = add %t, %j
  return %x
}
>>>

== a result that is not written is summarised
$ viewfold run count.vf
x: f32[4,3] = [[0.0, 1.0, 2.0], [10.0, 11.0, 12.0], [20.0, 21.0, 22.0], [30.0, 31.0, 32.0]]

== results and parameters as files
$ viewfold run count.vf --out x=x.npy
$ viewfold run blur.vf --in x=x.npy
h: f32[4,3] = [[5.0, 5.5, 6.0], [10.0, 11.0, 12.0], [20.0, 21.0, 22.0], [10.0, 10.5, 11.0]]
$ viewfold run blur.vf --in x=x.npy --out h=h.npy
$ viewfold run 'f32[4,3]' --in x=h.npy
y: f32[4,3] = [[5.0, 5.5, 6.0], [10.0, 11.0, 12.0], [20.0, 21.0, 22.0], [10.0, 10.5, 11.0]]

== a file is what numpy would write
$ viewfold run count.vf --out x=x.npy
$ head -c 128 x.npy | tail -c +11 | tr -s ' ' | sed 's/ $//'
{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }
$ wc -c < x.npy
176

== the file of an input is not that of a result
$ viewfold run count.vf --out x=x.npy
$ cp x.npy before.npy
$ viewfold run blur.vf --in x=x.npy --out h=x.npy
! viewfold run: --out h=x.npy: the run reads that file, as --in x; write another one
! Try 'viewfold run --help'.
? 2
$ cmp x.npy before.npy

== several results, some written
<<< parts.vf
graph @parts(%x: i32[6]) {
  %r = reshape %x shape=[2,3]
  %t = permute %r order=[1,0]
  %s = sum %r axes=[0]
  %m = max %x
  return %t, %s, %m, 7
}
>>>
$ viewfold run parts.vf --in x=[1,2,3,4,5,6] --out s=s.npy
t: i32[3,2] = [[1, 4], [2, 5], [3, 6]]
m: i32[] = 6
3: i32[] = 7
$ viewfold run 'i32[3]' --in x=s.npy
y: i32[3] = [5, 7, 9]

== a parameter as a result
$ viewfold run 'f32[2].reshape(2)' --in x=[1,2]
y: f32[2] = [1.0, 2.0]

== an unused value
<<< idle.vf
graph @idle(%x: f32[2], %y: f32[2]) {
  %z = neg %y
  return %z
}
>>>
$ viewfold run idle.vf --in x=[1,2] --in y=[3,4]
z: f32[2] = [-3.0, -4.0]

== the same result twice
<<< twice.vf
graph @twice(%x: f32[2]) {
  %z = neg %x
  return %z, %z
}
>>>
$ viewfold run twice.vf --in x=[1,2] --out z=z.npy
$ viewfold run 'f32[2]' --in x=z.npy
y: f32[2] = [-1.0, -2.0]

== a graph from standard input
<<< twice.vf
graph @twice(%x: f32[2]) {
  %z = neg %x
  return %z, %z
}
>>>
$ viewfold run - --in x=[1,2] < twice.vf
z: f32[2] = [-1.0, -2.0]
z: f32[2] = [-1.0, -2.0]

== one graph of several
<<< several.vf
graph @up(%x: f32[2]) {
  %y = add %x, 1.0
  return %y
}
graph @down(%x: f32[2]) {
  %y = sub %x, 1.0
  return %y
}
>>>
$ viewfold run several.vf --graph down --in x=[1,2]
y: f32[2] = [0.0, 1.0]
$ viewfold run several.vf --graph=@up --in x=[1,2]
y: f32[2] = [2.0, 3.0]

== literal inputs of every dtype
<<< all.vf
graph @all(%a: bool[2], %b: i8[2], %c: u8[], %d: i64[1], %e: u64[], %f: f16[3], %g: bf16[1], %h: f64[2]) {
  return %a, %b, %c, %d, %e, %f, %g, %h
}
>>>
$ viewfold run all.vf --in 'a=[true,false]' --in b=[-128,127] --in c=255 --in d=[-9223372036854775808] \
> --in e=18446744073709551615 --in f=[0.1,-0.0,inf] --in g=[3.14159] --in h=[1e-300,nan]
a: bool[2] = [true, false]
b: i8[2] = [-128, 127]
c: u8[] = 255
d: i64[1] = [-9223372036854775808]
e: u64[] = 18446744073709551615
f: f16[3] = [0.1, -0.0, inf]
g: bf16[1] = [3.14]
h: f64[2] = [1e-300, nan]

== no inputs, no results
<<< empty.vf
graph @empty(%x: f32[0]) {
  %s = sum %x
  %m = mean %x
  %y = exp %x
  return %y, %s, %m
}
>>>
$ viewfold run empty.vf --in x=[]
y: f32[0] = []
s: f32[] = 0.0
m: f32[] = nan

== NaNs are counted
$ viewfold run 'f32[20]' --in x=[1,nan,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,nan,20]
y: f32[20] nan 2 of 20 min 1.0 max 20.0 mean 10.5 first 1.0 nan 3.0 4.0 5.0 6.0 ...

== nothing but NaNs
$ viewfold run 'f32[17]' --in x=[nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan,nan]
y: f32[17] nan 17 of 17 first nan nan nan nan nan nan ...

== a larger array
$ viewfold run 'i64[5,5].permute(1,0)' --in 'x=[[1,2,3,4,5],[6,7,8,9,10],[11,12,13,14,15],[16,17,18,19,20],[21,22,23,24,25]]'
y: i64[5,5] min 1 max 25 mean 13 first 1 6 11 16 21 2 ...

== times as JSON
$ viewfold run count.vf --time --out x=x.npy
{"graph":"count","cold_ms":[..],"compile_ms":[..],"ms":[..],"min_ms":[..],"bytes":48,"flops":16}

== the second run compiles nothing
$ viewfold run count.vf --out x=x.npy
$ VIEWFOLD_COMPILE=0 viewfold run count.vf --time --out x=x.npy
{"graph":"count","cold_ms":[..],"compile_ms":0.000,"ms":[..],"min_ms":[..],"bytes":48,"flops":16}

== the second run loads no compiler
$ VIEWFOLD_COMPILE=inprocess LD_DEBUG=libs LD_DEBUG_OUTPUT=cold viewfold run count.vf --out x=x.npy
$ VIEWFOLD_COMPILE=inprocess LD_DEBUG=libs LD_DEBUG_OUTPUT=warm viewfold run count.vf --out x=x.npy
$ grep -l 'find library=libLLVM' cold.* | wc -l; cat warm.* | grep -c 'libLLVM'
1
0
? 1

== threads make no difference
$ viewfold run count.vf --threads=1 --out x=1.npy && viewfold run count.vf --threads=7 --out x=7.npy && cmp 1.npy 7.npy

== the largest numbers of u64, also within arrays
$ viewfold run 'u64[3].flip(0)' --in x=[18446744073709551615,0x8000000000000000,1]
y: u64[3] = [1, 9223372036854775808, 18446744073709551615]
$ viewfold run 'u64[1].pad((1,0),value=18446744073709551615)' --in x=[9223372036854775808] --check
y: u64[2] = [18446744073709551615, 9223372036854775808]
check y: 2 elements, bit-equal
$ viewfold run 'i64[1].flip(0)' --in x=[9223372036854775808]
! --in x:1:1: error: data: the value 9223372036854775808 does not fit i64, which holds the integers -9223372036854775808..9223372036854775807; use a value in that range or another dtype
? 2

== 0/0 of values known to be 0 is NaN, in vectors and in remainder loops
<<< g.vf
graph @g(%y: u64[9]) {
  %d = sub %y, %y
  %f = cast %d dtype=f64
  %q = div %f, %f
  %b = cast %d dtype=bool
  %r = where %b, %f, %q
  return %r
}
>>>
$ viewfold run g.vf --in y=[1,2,3,4,5,6,7,8,9]
r: f64[9] = [nan, nan, nan, nan, nan, nan, nan, nan, nan]

== arrays without elements
<<< g.vf
graph @g(%a: f32[0,3], %b: f32[2,n=0..9], %c: i8[2,0,3], %d: f32[m=0..20,0], %e: f32[m]) {
  return %a, %b, %c, %d
}
>>>
$ viewfold run g.vf --in a=[] --in b=[[],[]] --in c=[[],[]] --in d=[] --in e=[]
a: f32[0,3] = []
b: f32[2,0] = [[], []]
c: i8[2,0,3] = [[], []]
d: f32[0,0] = []
$ viewfold run g.vf --in a=[] --in b=[[],[]] --in c=[] --in d=[] --in e=[]
! viewfold run: %c is i8[2,0,3], but the value given holds i8[0,0,3]: axis 0 has to be 2
? 2
$ viewfold run 'f32[1,2].expand(20,2).shrink((0,20),(1,1))' --in x=[[1,2]]
y: f32[20,0] without elements

== vectors of bools of which some are known
<<< g.vf
graph @g(%a: bool[1], %b: bool[7]) {
  %p = pad %a pads=[[1,0]]
  %s = sum %p
  %q = pad %b pads=[[3,6]]
  %t = sum %q
  return %s, %t
}
>>>
$ viewfold run g.vf --in a=[true] --in b=[true,true,false,true,true,true,true]
s: i32[] = 1
t: i32[] = 6

== dot2 and dot4 of every width, in vectors and in remainder loops; products of narrow integers
<<< dot2.vf
graph @dot2(%x: i64[37], %m: i8[256,67], %n: u8[67,80]) {
  %y = mul %x, 40503
  %p = bitcast %x dtype=u64
  %q = bitcast %y dtype=u64
  %a = cast %x dtype=i8
  %b = cast %y dtype=i8
  %c = cast %x dtype=u16
  %d = cast %y dtype=u16
  %e = cast %x dtype=i32
  %f = cast %y dtype=i32
  %i = dot2 %a, %b
  %j = dot2 %c, %d
  %k = dot2 %e, %f
  %l = dot2 %x, %y
  %u = dot2 %p, %q
  %i4 = dot4 %a, %b
  %j4 = dot4 %c, %d
  %k4 = dot4 %e, %f
  %l4 = dot4 %x, %y
  %u4 = dot4 %p, %q
  %z = matmul %m, %n
  return %i, %j, %k, %l, %u, %i4, %j4, %k4, %l4, %u4, %z
}
>>>
$ printf 'graph @data() {
>  %%i = iota shape=[37] axis=0 dtype=i64
>  %%x = mul %%i, 1220703125987654321
>  %%j = iota shape=[256,67] axis=0 dtype=i32
>  %%k = iota shape=[256,67] axis=1 dtype=i32
>  %%l = mul %%j, %%k
>  %%m = cast %%l dtype=i8
>  %%o = iota shape=[67,80] axis=1 dtype=i32
>  %%p = add %%o, 3
>  %%q = mul %%p, %%p
>  %%n = cast %%q dtype=u8
>  return %%x, %%m, %%n
> }\n' > data.vf
$ viewfold run data.vf --out x=x.npy --out m=m.npy --out n=n.npy
$ viewfold run dot2.vf --in x=x.npy --in m=m.npy --in n=n.npy --check | grep check
check i: 37 elements, bit-equal
check j: 37 elements, bit-equal
check k: 37 elements, bit-equal
check l: 37 elements, bit-equal
check u: 37 elements, bit-equal
check i4: 37 elements, bit-equal
check j4: 37 elements, bit-equal
check k4: 37 elements, bit-equal
check l4: 37 elements, bit-equal
check u4: 37 elements, bit-equal
check z: 20480 elements, bit-equal

== absolute values of integers that were just cast to a narrower type
<<< narrowed.vf
graph @narrowed(%x: i64[61]) {
  %a = cast %x dtype=i8
  %b = cast %x dtype=i16
  %c = cast %x dtype=i32
  %d = abs %a
  %e = abs %b
  %f = abs %c
  return %d, %e, %f
}
>>>
$ printf 'graph @data() {\n %%i = iota shape=[61] axis=0 dtype=i64\n %%y = sub %%i, 30\n %%x = mul %%y, 1220703125987654321\n return %%x\n}\n' > data.vf
$ viewfold run data.vf --out x=x.npy
$ viewfold run narrowed.vf --in x=x.npy --check | grep check
check d: 61 elements, bit-equal
check e: 61 elements, bit-equal
check f: 61 elements, bit-equal

# Instruction selection of LLVM 19 takes 0/0 for 0 where it sees that lanes of both operands are masked.
== masked lanes of a quotient are not selected, whatever their values
<<< g.vf
graph @g(%x: f64[2,8,1,3]) {
  %s = softmax %x axis=-2
  %p = avg_pool %s kernel=[2] stride=[2] padding=[1] count_pads=false
  return %p
}
>>>
$ viewfold run g.vf --in 'x=[[[[1,2,3]],[[1,2,3]],[[1,2,3]],[[1,2,3]],[[1,2,3]],[[1,2,3]],[[1,2,3]],[[1,2,3]]],[[[1,2,3]],[[1,2,3]],[[1,2,3]],[[1,2,3]],[[1,2,3]],[[1,2,3]],[[1,2,3]],[[1,2,3]]]]' --check
p: f64[2,8,1,2] min 1.0 max 1.0 mean 1 first 1.0 1.0 1.0 1.0 1.0 1.0 ...
check p: 32 elements, bit-equal
