# Sums of columns of a large parameter, as wide as a page: more sums than registers.

<<< columns.vf
graph @columns(%x: f32[100,8192]) {
  %s = sum %x axes=[0]
  return %s
}
graph @greatest(%x: i32[96,8192]) {
  %m = max %x axes=[0]
  return %m
}
graph @numbers() {
  %i = iota axis=0 shape=[819200] dtype=f32
  %p = mul %i, 0.6180339
  %f = floor %p
  %d = sub %p, %f
  %x = reshape %d shape=[100,8192]
  return %x
}
>>>
<<< wide.sh
viewfold dump "$@" --target 'triple=x86_64-unknown-linux-gnu features=+avx512f vector_bytes=64 registers=32 l2=65536' columns.vf
>>>

== eight rows are added to each sum while it is in a register, those that fill no eight one by one
$ sh wide.sh --stage=loops --graph columns | grep -c 'load p1'
9
$ sh wide.sh --stage=loops --graph greatest | grep -c 'load p1'
8

== sum by sum: an addition adds to the one before it, not to that of another column
$ sh wide.sh --stage=llvm --graph columns | grep 'fadd' | head -8 |
> awk 'NR > 1 && $7 != last "," { print "not after " last ": " $0 } { last = $1 }'

== of the rows that come next, the first two lines of each are prefetched
$ sh wide.sh --stage=asm --graph columns | grep -c 'prefetcht0'
18

== sums that are kept in memory are aligned to vectors
$ sh wide.sh --stage=asm --graph columns | grep -c 'andq.*[$]-64, %rsp'
1

== the terms are added in the same order as where registers hold the sums
$ viewfold run --graph numbers --out x=x.npy columns.vf > made
$ viewfold run --graph columns --target 'l2=65536' --in x=x.npy --out s=wide.npy columns.vf > wide
$ viewfold run --graph columns --target 'l2=1073741824' --in x=x.npy --out s=narrow.npy columns.vf > narrow
$ cmp wide.npy narrow.npy

== rows whose terms lie a variable of a small range apart are copied where those of a number are: the columns are the other operand's, here
<<< apart.vf
graph @g(%a: f16[128,256], %b: f16[256,n=70..77]) {
  %y = matmul %a, %b
  return %y
}
>>>
$ for n in 77 n=70..77 n=1..4096; do sed "s/n=70..77/$n/" apart.vf | viewfold dump --stage=kernels --target 'vector_bytes=64 registers=32' - | head -1; done
graph @g: 4 kernels, 3 temporaries
graph @g: 4 kernels, 3 temporaries
graph @g: 3 kernels, 2 temporaries

== a sum of columns that registers hold has them all in one loop over the rows, the last vector overlapping: 17 columns are two vectors
<<< few.vf
graph @few(%x: f32[1,1024], %w: f32[1024,17]) {
  %y = matmul %x, %w
  return %y
}
graph @odd(%x: f32[1,1024], %w: f32[1024,41]) {
  %y = matmul %x, %w
  return %y
}
graph @make() {
  %i = iota axis=0 shape=[41984] dtype=f32
  %w1 = sin %i
  %w = reshape %w1 shape=[1024,41]
  %x1 = shrink %w1 bounds=[[0,1024]]
  %x = reshape %x1 shape=[1,1024]
  return %x, %w
}
>>>
$ for g in few odd; do viewfold dump --stage=loops --graph $g --target 'vector_bytes=64 registers=32' few.vf | grep -o -e 'in 0.*unroll' -e 'load p[12]'; done
in 0..2 unroll
load p2
load p1
in 0..3 unroll
load p2
load p1
$ viewfold run --graph make few.vf --out x=x.npy --out w=w.npy >/dev/null
$ for t in 'vector_bytes=64 registers=32' 'vector_bytes=32 registers=16' 'vector_bytes=16 registers=16'; do
> viewfold run --graph odd few.vf --target "$t" --in x=x.npy --in w=w.npy --out y=$(echo $t | tr -d ' ').npy >/dev/null; done
$ cmp vector_bytes=64registers=32.npy vector_bytes=32registers=16.npy
$ cmp vector_bytes=64registers=32.npy vector_bytes=16registers=16.npy

== columns of a large matrix are one block where its rows are a page or less, or blocks of more than half a page
$ for n in 400 1000 1024 1047 1600 4096; do printf 'graph @m(%%x: f32[1,4096], %%w: f32[4096,%d]) {\n  %%y = matmul %%x, %%w\n  return %%y\n}\n' $n >m.vf
> viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 l2=1048576' m.vf | grep -o 'split a0 [0-9]*' | head -1; done
split a0 400
split a0 1008
split a0 1024
split a0 1024
split a0 800
split a0 1024

== the same where it is the number of rows that varies, and most make a large matrix
$ printf 'graph @m(%%x: f32[1,n=1..4096], %%w: f32[n,512]) {\n  %%y = matmul %%x, %%w\n  return %%y\n}\n' >v.vf; viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 l2=1048576' v.vf | grep -o 'split a0 [0-9]*' | head -1
split a0 512

== blocks of columns are even, the last vector overlapping, so that what is left of a row is not read in a pass of its own; of these vectors, too, the first two lines of a row are prefetched
$ for n in 1247 2105; do printf 'graph @m(%%x: f32[1,4096], %%w: f32[4096,%d]) {\n  %%y = matmul %%x, %%w\n  return %%y\n}\n' $n >m.vf
> viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 l2=1048576' m.vf | grep -o -e 'split a0 [0-9]*' -e 'in 0.*unroll'
> viewfold dump --stage=asm --target 'triple=x86_64-unknown-linux-gnu features=+avx512f vector_bytes=64 registers=32 l2=1048576' m.vf | grep -c prefetcht0; done
split a0 624
split a0 16
in 0..39 unroll
in 0..39 unroll
32
split a0 528
split a0 16
in 0..33 unroll
in 0..33 unroll
32

== eight to 32 rows that lie pages apart are followed all at once, in narrow steps and without prefetches
$ for k in 7 8 21 33; do printf 'graph @s(%%x: f32[%d,100000]) {\n  %%y = sum %%x axes=[0]\n  return %%y\n}\n' $k >s.vf
> viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 l2=1048576' s.vf | sed -nE 's/.*nest 0: ([^uv]*);.*/\1/p; s/.*(ahead [0-9]*) .*/\1/p' | uniq; done
split a0 1024; split a0 16
ahead 800000
split a0 512; split a0 64; split a0 16
split a0 256; split a0 16
split a0 1024; split a0 16
ahead 800000

== of a few rows by columns that no cache holds all rows are done by columns in long pieces, vectors of which stay in registers for all rows; the terms are added in the same order; those read backwards are not prefetched; of integers they are multiplied by elements in memory; words of two bf16 are done in tiles
<<< rows.vf
graph @rows(%a: f32[16,600], %b: f32[600,1000]) {
  %y = matmul %a, %b
  return %y
}
graph @back(%a: f32[16,600], %b: f32[600,1000]) {
  %f = flip %b axes=[0]
  %y = matmul %a, %f
  return %y
}
graph @numbers() {
  %i = iota axis=0 shape=[609600] dtype=f32
  %p = sin %i
  %a1 = shrink %p bounds=[[0,9600]]
  %a = reshape %a1 shape=[16,600]
  %b1 = shrink %p bounds=[[9600,609600]]
  %b = reshape %b1 shape=[600,1000]
  return %a, %b
}
>>>
<<< few.sh
viewfold dump --graph rows --target "triple=x86_64-unknown-linux-gnu features=+avx512f vector_bytes=64 registers=32 l2=65536 l3=$1" --stage=$2 rows.vf
>>>
$ for l3 in 524288 4194304; do sh few.sh $l3 loops | grep -o 'split a0.*split a1 [0-9]*' | head -1; done
split a0 16; split a1 96; split a1 16
split a0 4; split a1 64; split a1 16
$ test $(sh few.sh 524288 asm | grep -c 'vfmadd.*1to16') -ge 512
$ viewfold run --graph numbers --out a=a.npy --out b=b.npy rows.vf > made
$ for l3 in 524288 1073741824; do viewfold run --graph rows --target "l2=65536 l3=$l3" --in a=a.npy --in b=b.npy --out y=$l3.npy rows.vf > ran; done
$ cmp 524288.npy 1073741824.npy
$ sh few.sh 524288 loops | grep -c ahead
16
$ sed 's/@rows/@forth/; s/@back/@rows/' rows.vf > back.vf && sed 's/rows.vf/back.vf/' few.sh > back.sh
$ sh back.sh 524288 loops | grep -o 'split a0.*split a1 [0-9]*'
split a0 16; split a1 96; split a1 16
$ sh back.sh 524288 loops | grep -c ahead
0
? 1
$ sed 's/f32/i32/; s/f32/i32/' rows.vf > whole.vf && sed 's/rows.vf/whole.vf/' few.sh > whole.sh
$ test $(sh whole.sh 524288 asm | grep -c 'vpmulld.*1to16') -ge 512
$ sed 's/f32/bf16/; s/f32/bf16/' rows.vf > pairs.vf && sed 's/rows.vf/pairs.vf/; s/ vector/,+avx512bf16 fma2=1 vector/' few.sh > pairs.sh
$ VIEWFOLD_PRECISION=relaxed sh pairs.sh 131072 loops | grep -o 'split a0.*split a1 64\|fma2' | sort -u
fma2
split a0 4; split a1 64

== of so few terms that all of them are read together, pages apart, few rows are done by a vector of columns at a time, whose lines further on are prefetched: not of many products, nor of many terms from caches or whole pages apart; the terms are added in the same order
<<< follow.sh
printf 'graph @m(%%a: f32[%s], %%b: f32[%s]) {\n  %%y = matmul %%a, %%b\n  return %%y\n}\n' $1 $2 >m.vf
>>>
$ for n in 7,40/40,20001 13,24/24,20001 64,30/30,20001 65,30/30,20001 12,300/300,20001 6,300/300,8001 6,300/300,20001 7,33/33,20480; do sh follow.sh $(echo $n | tr / ' ')
> viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 l2=1048576 l3=33554432' m.vf | sed -nE 's/.*nest 0: (.*); reorder.*/\1/p; s/.*p1.*(ahead [0-9]*) .*/\1/p' | uniq | paste -sd' '; done
split a0 7; split a1 16 ahead 256
split a0 11; split a1 16 ahead 256
split a0 11; split a1 1024; split a1 16 ahead 256
split a0 5; split a1 1024; split a1 64; split a1 16
split a2 32; split a2 16 split a0 12; split a1 32; split a1 16 ahead 256
split a0 6; split a1 64; split a1 16 ahead 32004
split a0 6; split a1 16 ahead 256
split a0 7; split a1 48; split a1 16 ahead 102400
$ sh follow.sh 7,40 40,20001
$ for i in 0 1; do printf 'graph @n() {\n  %%i = iota axis=0 shape=[%d] dtype=f32\n  %%s = sin %%i\n  %%x = reshape %%s shape=[%s]\n  return %%x\n}\n' $(echo 280 7,40 800040 40,20001 | cut -d' ' -f$((2*i+1))-$((2*i+2))) >n.vf
> viewfold run n.vf --out x=n$i.npy >/dev/null; done
$ for l2 in 65536 1073741824; do viewfold run --target "l2=$l2" --in a=n0.npy --in b=n1.npy --out y=y$l2.npy m.vf >ran; done
$ cmp y65536.npy y1073741824.npy

== threads share pieces of the columns of such rows, which are done whole
$ for n in 257 1001; do printf 'graph @m(%%a: f32[9,8000], %%b: f32[8000,%d]) {\n  %%y = matmul %%a, %%b\n  return %%y\n}\n' $n >m.vf
> viewfold dump --stage=loops --target 'vector_bytes=64 registers=32 l2=1048576 l3=4194304' m.vf | grep -o -e 'split a1 [0-9]*; s' -e 'thread a.*'; done
split a1 80; s
thread a1.0
split a1 160; s
thread a1.0

== of up to eight rows, which one tile has, those are streamed whose columns lie pages apart or are more than 24 MiB, where registers hold 2 KiB; where a tile reads one line of each row, columns of 7 MiB are copied into panels first
<<< pages.sh
for n in 1900 2048 6000; do printf 'graph @m(%%a: f32[7,3000], %%b: f32[3000,%d]) {\n  %%y = matmul %%a, %%b\n  return %%y\n}\n' $n >m.vf
viewfold dump --stage=loops --target "$1 l2=1048576 l3=33554432" m.vf | grep -o 'split a1 [0-9]*; s'; done
>>>
$ sh pages.sh 'vector_bytes=64 registers=32'
split a1 64; s
split a1 208; s
split a1 208; s
$ sh pages.sh 'vector_bytes=32 registers=16'
split a1 4; s
split a1 16; s
split a1 2; s
split a1 16; s
split a1 16; s

== where sums of all columns are more than registers, eight rows are added at a time, or one where rows follow one another in memory
$ for n in 96 160 640 1100; do printf 'graph @m(%%a: f32[9000,%d]) {\n  %%y = max %%a axes=[0]\n  return %%y\n}\n' $n >m.vf; viewfold dump --stage=loops --target 'x86-64-v3' m.vf | awk '/^kernel @m_1/ { exit } /load p1/ { loads++ } END { print loads }'; done
1
1
1
18
