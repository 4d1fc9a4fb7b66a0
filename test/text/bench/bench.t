# `viewfold bench`: arguments, the requests of --serve, --once, and measuring a small workload.
<<< graph.vf
graph @g(%x: f32[2,3], %k: i32[3]) {
  %y = add %x, 0.5
  %i = argmax %x axis=1
  %n = neg %k
  return %y, %i, %n
}
>>>
<<< meta.json
[{"shape": [2, 3], "dtype": "float32"}, {"shape": [3], "dtype": "int32"}]
>>>
<<< make.sh
# inputs 1 5 2 / 9 8 7 as float32, and 1 2 3 as int32
mkdir d && cp graph.vf meta.json d
printf '\000\000\200\077\000\000\240\100\000\000\000\100\000\000\020\101\000\000\000\101\000\000\340\100' > d/in0.bin
printf '\001\000\000\000\002\000\000\000\003\000\000\000' > d/in1.bin
>>>

== --serve: results of all dtypes are written as float32, one after the other
$ sh make.sh
$ printf 'setup any d\nrun 2\ndump out.bin\ndrop\nquit\nrun 1\n' | viewfold bench --serve --threads 1 | sed 's/[0-9][0-9]*[.][0-9]*/T/g'
ok T
ms T T
ok
ok
ok
$ od -An -v -tf4 -w44 out.bin | tr -s ' '
 1.5 5.5 2.5 9.5 8.5 7.5 1 0 -1 -2 -3

== `run N` answers with N times, and --serve ends with its input
$ sh make.sh
$ printf 'setup any d\nrun 1000\n' | viewfold bench --serve | awk '{ print $1, NF - 1 }'
ok 1
ms 1000

== a workload that cannot be set up is skipped, and --serve goes on
$ sh make.sh
$ mkdir none
$ printf 'run 1\nsetup V9z none\nsetup V1 none\nsetup\nrun\nshout loud\ndump\nsetup any d\ndump no/such/folder\nsetup any none\ndump x\nquit\n' |
> viewfold bench --serve | sed 's/^ok [0-9.]*/ok T/'
skip nothing is set up; `setup ID DIR` comes first
skip there is no workload 'V9z'; did you mean V9?
skip the graph has 1 inputs; found 0
skip setup takes the id of a workload and a folder
skip run takes a number from 0 to 10000000
skip unknown request 'shout loud'; expected setup, run, dump, drop or quit
skip dump takes the name of a file
ok T
skip no/such/folder: No such file or directory
skip there is no workload 'any'; --list prints them
skip nothing is set up; `setup ID DIR` comes first
ok

== a workload by its name, with inputs without types
$ mkdir d
$ head -c 262144 /dev/zero > d/in0.bin
$ cp d/in0.bin d/in1.bin
$ printf 'setup L2chain d\ndump out.bin\n' | viewfold bench --serve | sed 's/ [0-9.]*$/ T/'
ok T
ok
$ od -An -tf4 -w4 out.bin | tr -d ' '
1
*

== inputs that do not match the graph
$ sh make.sh
$ printf '[{"shape":[3,2],"dtype":"float32"},{"shape":[3],"dtype":"int32"}]' > d/meta.json
$ printf 'setup any d\n' | viewfold bench --serve
skip input 0, %x, is f32[2,3] of 24 bytes; found f32[3,2] of 24 bytes
$ printf '[{"shape":[2,3],"dtype":"float32"},{"shape":[3],"dtype":"float31"}]' > d/meta.json
$ printf 'setup any d\n' | viewfold bench --serve
skip d/meta.json: input 1: {"shape":[...],"dtype":"float32"} expected, with a dtype as NumPy calls it
$ printf '{}' > d/meta.json
$ printf 'setup any d\n' | viewfold bench --serve
skip d/meta.json: a list expected, of {"shape":[...],"dtype":"float32"}
$ rm d/meta.json && printf 'abc' >> d/in0.bin
$ printf 'setup any d\n' | viewfold bench --serve
skip input 0, %x, is f32[2,3] of 24 bytes; found 27 bytes
$ cp meta.json d && rm d/in1.bin
$ printf 'setup any d\n' | viewfold bench --serve
skip d/in1.bin: No such file or directory

== a graph with errors, and one with symbolic sizes
$ sh make.sh
$ printf 'graph @g(%%x: f32[2]) {\n  %%y = nig %%x\n  return %%y\n}\n' > d/graph.vf
$ printf 'setup any d\n' | viewfold bench --serve
skip d/graph.vf:2:3: error: nig: there is no such operation; nearest: neg
$ printf 'graph @g(%%x: f32[n=1..4]) {\n  %%y = neg %%x\n  return %%y\n}\n' > d/graph.vf
$ printf 'setup any d\n' | viewfold bench --serve
skip sizes of the graph are variables, such as n; fixed ones expected

== --once: with a filled cache no compiler is needed
$ sh make.sh
$ viewfold bench --once any d | sed 's/[0-9][0-9]*[.][0-9]*/T/g'
{"workload":"any","first_ms":T,"ms":T}
$ VIEWFOLD_COMPILE=0 viewfold bench --once any d | sed 's/[0-9][0-9]*[.][0-9]*/T/g'
{"workload":"any","first_ms":T,"ms":T}
$ VIEWFOLD_COMPILE=0 viewfold bench --once any d --no-cache
! viewfold bench: [..]VIEWFOLD_COMPILE=0[..]
? 3

== --once with an unknown workload
$ mkdir d
$ viewfold bench --once V1x d
! viewfold bench: there is no workload 'V1x'; did you mean V1?
? 2

== arguments
$ viewfold bench --serve V1
! viewfold bench: --serve is told workloads by requests; found 'V1'
! Try 'viewfold bench --help'.
? 2
$ viewfold bench --once V1
! viewfold bench: --once takes the id of a workload and a folder; found 1 argument
! Try 'viewfold bench --help'.
? 2
$ viewfold bench --serve --once a b
! viewfold bench: --serve and --once exclude each other
! Try 'viewfold bench --help'.
? 2
$ viewfold bench --serve --json
! viewfold bench: --serve and --json exclude each other
! Try 'viewfold bench --help'.
? 2
$ viewfold bench L2chain M1_521
! viewfold bench: there is no workload 'M1_521'; did you mean M1_512?
! Try 'viewfold bench --help'.
? 2
$ viewfold bench --threads 0 L2chain
! viewfold bench: --threads takes a number from 1 to 4096, found '0'
! Try 'viewfold bench --help'.
? 2
$ viewfold bench --rounds none
! viewfold bench: --rounds takes a number from 1 to 1000, found 'none'
! Try 'viewfold bench --help'.
? 2
$ viewfold bench --worker numpy
! viewfold bench: --worker takes NAME=COMMAND with a name of at most 31 letters, found 'numpy'
! Try 'viewfold bench --help'.
? 2
$ viewfold bench --history no/such/file L2chain
! viewfold bench: no/such/file: No such file or directory
? 2
$ viewfold bench --help | head -1
Usage: viewfold bench [--json] [--threads N] [OPTIONS] [ID ...]

== every workload is listed, and has a graph
$ viewfold bench --list | wc -l
42
$ viewfold bench --list | cut -d' ' -f1 | sort > listed
$ ls "$TEST_ROOT"/frontend/workloads/*.vf | sed 's|.*/||; s|[.]vf$||' | sort | diff - listed

== a workload is measured and checked
$ viewfold bench --json --threads 1 --rounds 1 L2chain | sed 's/:[0-9][-+.e0-9]*/:T/g'
{"workload":"L2chain","ms":T,"min_ms":T,"gbs":T,"gflops":T,"error":T,"limit_ms":T,"first_ms":T,"threads":T}
$ viewfold bench --threads 1 --rounds 1 L2softmax | sed -n '2s/  *[0-9].*e-0[78]$/ SMALL/p'
L2softmax  softmax of rows SMALL

== peers are measured in turn, and a picture is drawn; a peer with wrong results or without an answer is left out
<<< liar.sh
while read -r request rest; do
  case $request in
  setup) echo ok 1 ;;
  dump) head -c 262144 /dev/zero > "$rest"; echo ok ;;
  quit) echo ok; exit ;;
  *) echo ok ;;
  esac
done
>>>
$ TMPDIR=$PWD viewfold bench --json --threads 1 --rounds 1 --picture p.svg --worker 'self=viewfold bench --serve --threads {threads}' \
>   --worker 'liar=sh liar.sh' --worker 'gone=false' L2chain | sed 's/.*peers/peers/; s/:[0-9.][0-9.]*/:T/'
peers":{"self":T}}
! viewfold bench: worker gone does not answer, and is left out
! viewfold bench: L2chain: the results of liar are wrong, and not measured
$ grep -c '</svg>' p.svg
1
$ grep -o 'class="share"\|[0-9.]* self<' p.svg | sed 's/[0-9.]* self/N self/'
class="share"
N self<
$ ls -d viewfold-bench-* 2>/dev/null | wc -l
0

== the history keeps limits and results, and workloads that became slower are reported
$ viewfold bench --json --threads 1 --rounds 1 --history h.jsonl --commit abc L2chain > first
$ sed 's/"date":"[^"]*"/D/; s/"machine":"[^"]*"/M/; s/:[0-9.][0-9.e]*/:T/g; s/T,\(T,\)*/T,/g; s/\[[^]]*\]/L/g' h.jsonl
{D,"commit":"abc",M,"threads":T,"limits":{"read_gbs":L,"copy_gbs":L,"fill_gbs":L,"gflops":T}}
{D,"commit":"abc",M,"threads":T,"workload":"L2chain","ms":T,"min_ms":T}
$ sed 's/"ms":[0-9.e-]*,"min_ms":[0-9.e-]*/"ms":1e-9,"min_ms":1e-9/' h.jsonl > faster.jsonl
$ viewfold bench --json --threads 1 --rounds 1 --history faster.jsonl L2chain > second
! slower: L2chain takes [..] ms; it took 0.000 ms on [..], commit abc
$ grep -c workload faster.jsonl
2

== a history that is none, a folder with too long a name, and no room for the inputs of a worker
$ head -c 1100000 /dev/zero | tr '\0' x > history
$ viewfold bench --history history L2chain
! viewfold bench: history: a line has more than 1048576 bytes; a history has the lines that --history has written
? 2
$ viewfold bench --once L2chain $(printf 'a/%.0s' $(seq 3000))
! viewfold bench: the name of the folder is too long
? 2
$ trap '' XFSZ; ulimit -f 8; viewfold bench --no-cache --worker 'idle=while read line; do echo ok 1; done' R4 > /dev/null
! viewfold bench: [..]/viewfold-bench-[..]: inputs of R4 could not be written: File too large
? 2

== a graph in place of a workload
$ viewfold bench net.vf
! viewfold bench: there is no workload 'net.vf'; a graph is timed by viewfold run FILE.vf --time, by kernel with --profile
! Try 'viewfold bench --help'.
? 2
