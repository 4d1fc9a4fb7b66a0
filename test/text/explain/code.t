# What the machine code does in each loop; the counts were made by hand from the assembler.
== the loops of a row that is shifted by one column: 48 of 50 elements in six vectors, and a vector that overlaps the last of these
$ viewfold explain --no-run --code text --target 'triple=x86_64-unknown-linux-gnu features=+avx2,+fma vector_bytes=32 registers=16 fma=1' 'f32[6,50].pad((0,0),(1,0))' | grep -A 9 '^  code'
  code    before and behind loops: 1 integer operation, 2 loads
          a block of threads: 2 integer operations, 1 move; [..] general and 1 vector registers
            1 of 6 iterations: 6 integer operations, 1 move, 1 load, 2 stores; [..] general and 1 vector registers
              1 of 6 iterations: 2 integer operations, 1 load, 1 store; [..] general and 1 vector registers
          111 integer operations by one thread: 0.363 for each of 306 elements

== the same as JSON
$ viewfold explain --no-run --code json --target 'triple=x86_64-unknown-linux-gnu features=+avx2,+fma vector_bytes=32 registers=16 fma=1' 'f32[6,50].pad((0,0),(1,0))' | tr '{' '\n' | sed 's/,"general.*}/}/'
\
"kernel":0,"outside":
"integer":1,"vector":0,"moves":0,"loads":2,"constants":0,"stores":0,"spills":0},"loops":[
"integer":2,"vector":0,"moves":1,"loads":0,"constants":0,"stores":0,"spills":0,"inside":null,"iterations":1,"threads":true},
"integer":6,"vector":0,"moves":1,"loads":1,"constants":0,"stores":2,"spills":0,"inside":0,"iterations":6,"threads":false},
"integer":2,"vector":0,"moves":0,"loads":1,"constants":0,"stores":1,"spills":0,"inside":1,"iterations":6,"threads":false}

== constants that a loop holds in registers are loaded before it; those that an instruction reads are loads of the loop
<<< scale.vf
graph @scale(%x: f32[4096]) {
  %a = mul %x, 1.5
  %y = add %a, 0.25
  return %y
}
>>>
$ viewfold explain --no-run --code text --target 'triple=x86_64-unknown-linux-gnu features=+avx2,+fma vector_bytes=32 registers=16 fma=1' scale.vf | grep -A 4 '^  code'
  code    before and behind loops: 4 integer operations, 2 vector operations, 1 move, 6 loads, 4 of constants
          a block of threads: 9 integer operations, 6 vector operations, 4 moves, 2 loads, 2 stores; [..] general and 7 vector registers
            1 of 512 iterations: 2 integer operations, 2 vector operations, 1 move, 1 load, 1 store; [..] general and 3 vector registers
          1037 integer operations by one thread: 0.253 for each of 4096 elements

== other processors, and other forms
$ viewfold explain --no-run --code text --target 'triple=aarch64-unknown-linux-gnu' 'f32[64]' | grep '^  code'
  code    not counted
$ viewfold explain --no-run --code xml 'f32[64]'
! viewfold explain: --code takes text or json, found 'xml'
! Try 'viewfold explain --help'.
? 2
