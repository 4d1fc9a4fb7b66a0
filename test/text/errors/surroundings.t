# What the machine around the command lacks: compilers, their parts, folders; each message whole.

<<< neg.vf
graph @neg(%x: f32[4]) {
  %y = neg %x
  return %y
}
>>>

== device c without a compiler, and with one that writes nothing
$ CC=/nowhere/cc viewfold run --device=c neg.vf --in x=[1,2,3,4]
! viewfold run: device c: there is no C compiler: `cc`, or what the environment calls CC, cannot be run; install one (Debian: apt install gcc)
? 3
$ CC=true viewfold run --device=c neg.vf --in x=[1,2,3,4]
! viewfold run: graph @neg: compile: the C compiler (cc, or what CC says) cannot compile a kernel: it left no file
? 3

== a C compiler that fails with -O2 is asked with less
<<< cc.sh
case " $* " in
*' -O2 '*) echo 'internal compiler error'; exit 1 ;;
esac
exec cc "$@"
>>>
$ CC="sh $PWD/cc.sh" viewfold run --device=c neg.vf --in x=[1,2,3,4]
y: f32[4] = [-1.0, -2.0, -3.0, -4.0]

== no folder for temporary files
$ TMPDIR=/nowhere viewfold run --device=c neg.vf --in x=[1,2,3,4]
! viewfold run: device c: cannot make the temporary directory /nowhere/viewfold-[..]: No such file or directory; the variable TMPDIR names where they are made
? 2

== a target beside a device that is no processor
@needs viewfold devices | grep -q opencl
$ viewfold run --device=opencl --target=x86-64-v3 neg.vf --in x=[1,2,3,4]
! viewfold run: target: an OpenCL device describes itself, and runs no code for another target; leave the target out, or use device cpu
? 3

== LLVM knows no such triple
$ viewfold dump --stage=asm --target='x86-64 triple=foo' neg.vf
! viewfold dump: compile: LLVM cannot make code for foo: No available targets are compatible with triple "foo"; a triple is like aarch64-linux-gnu
? 3

== the name of the cache's folder is longer than a name can be
$ VIEWFOLD_CACHE_DIR=$(printf 'a%.0s' $(seq 300)) viewfold cache stat
! viewfold cache: cannot read '[..]': File name too long
? 2

== the code generator is damaged, or is another library
$ mkdir damaged other && for d in damaged other; do cp "$(command -v viewfold)" $d/alone; done
$ echo none > damaged/viewfold-llvm.so
$ VIEWFOLD_COMPILE=inprocess damaged/alone run neg.vf --in x=[1,2,3,4]
! viewfold run: graph @neg: compile: the code generator cannot be loaded: [..]/damaged/viewfold-llvm.so: file too short; install the one that belongs to this library
? 3
$ ln -s "$(dirname "$(command -v viewfold)")/libviewfold.so" other/viewfold-llvm.so
$ VIEWFOLD_COMPILE=inprocess other/alone run neg.vf --in x=[1,2,3,4]
! viewfold run: graph @neg: compile: [..]/other/viewfold-llvm.so belongs to another build of viewfold; install both together
? 3
