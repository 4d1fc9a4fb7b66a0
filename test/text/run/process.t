# Compiling in a separate process, the default of the command.

<<< g.vf
graph @g() {
  %i = iota dtype=f32 shape=[8,16] axis=1
  %j = iota dtype=f32 shape=[16,8] axis=0
  %m = matmul %i, %j
  %e = exp %i
  %s = sum %e axes=[0]
  return %m, %e, %s
}
>>>

== the command loads no LLVM itself
$ LD_DEBUG=libs LD_DEBUG_OUTPUT=process viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
y: f32[4] = [4.0, 3.0, 2.0, 1.0]
$ VIEWFOLD_CACHE_DIR=other VIEWFOLD_COMPILE=inprocess LD_DEBUG=libs LD_DEBUG_OUTPUT=here viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
y: f32[4] = [4.0, 3.0, 2.0, 1.0]
$ cat process.* | grep -c 'find library=libLLVM'; cat here.* | grep -c 'find library=libLLVM'
0
1

== the same entries of the cache, byte for byte
$ for m in process inprocess; do VIEWFOLD_COMPILE=$m VIEWFOLD_CACHE_DIR=$m viewfold run g.vf > $m.out; done
$ cmp process.out inprocess.out && wc -l < process.out
3
$ diff -r process inprocess && find process -type f | wc -l
[..]

== the same assembler and LLVM IR
$ for m in process inprocess; do for s in asm llvm; do VIEWFOLD_COMPILE=$m viewfold dump --stage=$s g.vf > $m.$s; done; done
$ cmp process.asm inprocess.asm && cmp process.llvm inprocess.llvm && grep -c 'globl' process.asm
3

== the times of its compiling steps are reported
$ VIEWFOLD_DEBUG=time viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] 2> times
y: f32[4] = [4.0, 3.0, 2.0, 1.0]
$ grep -cw select times
1

== an unknown value of VIEWFOLD_COMPILE
$ VIEWFOLD_COMPILE=proces viewfold run 'f32[4]' --in x=[1,2,3,4]
! viewfold run: VIEWFOLD_COMPILE is 'proces'; it must be process, inprocess or 0, which forbids to compile
? 2
$ VIEWFOLD_COMPILE_SECONDS=1h viewfold run 'f32[4]' --in x=[1,2,3,4]
! viewfold run: VIEWFOLD_COMPILE_SECONDS is '1h'; it must be a number from 1 to 2147483647
? 2

== without the program nothing is compiled, and the message says what to do
$ cp "$(command -v viewfold)" alone && ln -s "$(dirname "$(command -v viewfold)")/viewfold-llvm.so" .
$ ./alone run 'f32[4].flip(0)' --in x=[1,2,3,4]
! viewfold run: graph @chain: compile: the program viewfold-compile is missing; looked at [..]/viewfold-compile, in viewfold/ beside it and in ../lib/viewfold/. Install it beside [..]/viewfold-llvm.so, name it in compile_program of vf_options, or compile in the process itself (VIEWFOLD_COMPILE=inprocess)
? 3
$ VIEWFOLD_COMPILE=inprocess ./alone run 'f32[4].flip(0)' --in x=[1,2,3,4]
y: f32[4] = [4.0, 3.0, 2.0, 1.0]
$ ./alone run 'f32[4].flip(0)' --in x=[1,2,3,4]
y: f32[4] = [4.0, 3.0, 2.0, 1.0]

== without LLVM the C compiler compiles, which the log says
$ mkdir bare && cp "$(command -v viewfold)" bare/alone
$ VIEWFOLD_DEBUG=log bare/alone run 'f32[4].flip(0)' --in x=[1,2,3,4]
y: f32[4] = [4.0, 3.0, 2.0, 1.0]
! viewfold: compiler: there is no [..]/bare/viewfold-llvm.so; kernels are compiled by the C compiler (device c)
$ bare/alone run 'f32[4].flip(0)' --in x=[1,2,3,4]
y: f32[4] = [4.0, 3.0, 2.0, 1.0]

== no room for what the C compiler reads
$ (trap '' XFSZ; ulimit -f 0; viewfold run --device c 'f32[4].flip(0)' --in x=[1,2,3,4] 2>&1) | cat
viewfold run: graph @chain: compile: cannot write [..]/kernel.c: File too large

== when the program crashes the command reports it
$ cp "$(command -v viewfold)" alone && ln -s "$(dirname "$(command -v viewfold)")/viewfold-llvm.so" .
$ printf '#!/bin/sh\necho something is wrong >&2\nkill -SEGV $$\n' > viewfold-compile && chmod +x viewfold-compile
$ ./alone run 'f32[4].flip(0)' --in x=[1,2,3,4]
! viewfold run: graph @chain: compile: kernel vf_copy_f32_[..]: the program [..]/viewfold-compile ended as soon as it was started (signal 11, Segmentation fault): something is wrong; install the one that belongs to this library, or compile in the process itself (VIEWFOLD_COMPILE=inprocess)
? 3
$ chmod -x viewfold-compile
$ ./alone run 'f32[4].flip(0)' --in x=[1,2,3,4]
! viewfold run: graph @chain: compile: the program [..]/viewfold-compile cannot be started: Permission denied; it must be an executable file, and the process may need more descriptors or processes than its limits allow. Or compile in the process itself (VIEWFOLD_COMPILE=inprocess)
? 3

== the program says what it is for when called by hand
$ viewfold-compile --version
viewfold-compile 0.1.0
$ viewfold-compile --help | head -1
viewfold-compile: compiles kernels for viewfold, which starts it and speaks with it.
$ viewfold-compile
! viewfold-compile: viewfold starts this program by itself; --help says what it is for
? 2
