# Stores that are aligned to vectors when the kernel runs: codegen/llvm/align.c.

== a loop with enough iterations begins at the first aligned address
<<< neg.vf
graph @g(%x: f32[4096]) {
  %y = neg %x
  return %y
}
>>>
$ viewfold dump --stage=llvm --target x86-64-v3 neg.vf | grep -c 'sdiv exact'
1

== one that may have a single iteration does not: its bounds reach to the ends of 64 bits
<<< rows.vf
graph @g(%x: f64[2,7,n=5..4294967296,((n+4)//5)]) {
  %y = flip %x axes=[2,3]
  return %y
}
>>>
$ viewfold dump --stage=llvm --target x86-64-v3 rows.vf | grep -c 'sdiv exact'; viewfold dump --stage=llvm --target x86-64-v4 rows.vf | grep -c 'sdiv exact'
0
0
? 1
