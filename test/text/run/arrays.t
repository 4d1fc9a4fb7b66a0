# Kernels of very many arrays.

== rows of a fused group that sum up 1200 arrays
$ printf 'graph @x() {\n  %%y = arange start=0 stop=1024 step=1 dtype=i32\n  %%z = reshape %%y shape=[64,16]\n  return %%z\n}\n' > x.vf
$ viewfold run x.vf --out z=x.npy
$ awk 'BEGIN {
>   rows = 8; each = 150
>   for (i = 0; i < rows * each; i++) inputs = inputs (i ? ", " : "") "%x" i ": i32[64,16]"
>   print "graph @many(" inputs ") {"
>   for (i = 0; i < rows * each; i++) {
>     row = int(i / each); before = i % each ? "%s" (i - 1) : row ? "%t" (row - 1) : "1"
>     print "  %s" i " = add " before ", %x" i
>     if (i % each == each - 1) print "  %t" row " = sum %s" i " axes=[1] keepdims=true"
>   }
>   print "  return %t" rows - 1 "\n}" }' > many.vf
$ viewfold dump --stage=kernels many.vf | head -1
graph @many: 1 kernel, 0 temporaries
$ viewfold run many.vf --check $(seq -f '--in x%g=x.npy' 0 1199)
t7: i32[64,1] min -162480 max -1200 mean -81840 first -1200 -3760 -6320 -8880 -11440 -14000 ...
check t7: 64 elements, bit-equal
