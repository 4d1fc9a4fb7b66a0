# Symbolic sizes with large bounds: what is computed depends on the sizes of the run.

== indices of extrema of whole vectors of wide elements
<<< g.vf
graph @g(%x: f64[n=6..2097152], %i: i64[m=1..1099511627776]) {
  %a = argmax %x axis=0
  %b = argmin %x axis=0
  %c = argmax %i axis=0
  %d = argmin %i axis=0
  return %a, %b, %c, %d
}
>>>
$ viewfold run g.vf --in x=[1,2,5,4,5,1,2] --in i=[3]
a: i64[] = 2
b: i64[] = 0
c: i64[] = 0
d: i64[] = 0
$ for t in 1 2; do viewfold run g.vf --threads $t --in x=[1,1,1,1,1,nan] --in i=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,-7,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,9,9] --check > $t; done; cat 1; cmp 1 2
a: i64[] = 5
b: i64[] = 5
c: i64[] = 35
d: i64[] = 17
check a: 1 element, bit-equal
check b: 1 element, bit-equal
check c: 1 element, bit-equal
check d: 1 element, bit-equal

== sums of vectors
<<< g.vf
graph @g(%x: f32[n=6..1073741824], %y: f32[m=0..1099511627776], %z: f16[k=0..1099511627776:2]) {
  %s = sum %x axes=[0]
  %t = sum %y axes=[0]
  %u = sum %z axes=[0]
  return %s, %t, %u
}
>>>
$ viewfold run g.vf --in x=[1,2,3,4,5,6,7] --in y=[] --in z=[1,2]
s: f32[] = 28.0
t: f32[] = 0.0
u: f16[] = 3.0
$ viewfold run g.vf --in x=[1,1,1,1,1,1] --in y=[0.5] --in z=[]
s: f32[] = 6.0
t: f32[] = 0.5
u: f16[] = 0.0

== a sum has a few levels of loops, and fewer for the remainder
<<< g.vf
graph @g(%x: f32[n=6..10000]) {
  %s = sum %x axes=[0]
  return %s
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=32 registers=16' g.vf | grep -c ' = for '
6

== a sum over several long axes
<<< g.vf
graph @g(%x: f64[n=1..4294967297,m=6..2147483648:7,k=0..1048577]) {
  %s = sum %x axes=[0,1,2]
  return %s
}
>>>
$ viewfold run g.vf --in x=[[[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2]]]
s: f64[] = 21.0

== cumulative operations whose sizes cannot all be large at once
<<< g.vf
graph @g(%x: f32[100,r=1..1073741824,m=1..1099511627776,k=1..1099511627776]) {
  %s = cumsum %x axis=0
  %last = point %s index=99 axis=0
  return %last
}
>>>
<<< ones.vf
graph @ones(%one: f32[1]) {
  %x = expand %one shape=[100,2,1,3]
  return %x
}
>>>
$ viewfold run ones.vf --in one=[0.5] --out x=x.npy && viewfold run g.vf --in x=x.npy
last: f32[2,1,3] = [[[50.0, 50.0, 50.0]], [[50.0, 50.0, 50.0]]]

== memory for sorting depends on the sizes of the run
<<< g.vf
graph @g(%x: u32[n=1..2147483649,2], %y: f64[m=3..1073741824], %z: i8[r=1..1073741824,n]) {
  %s = sort %x axis=0
  %a = argsort %y
  %v, %i = topk %y k=3
  %d = sort %z axis=0 descending=true
  return %s, %a, %v, %i, %d
}
>>>
$ viewfold run g.vf --in x=[[4,0],[1,4294967295],[3,7]] --in y=[0.5,-0.0,nan,0.0,-inf] --in z=[[1,-2,3]]
s: u32[3,2] = [[1, 0], [3, 7], [4, 4294967295]]
a: i64[5] = [4, 1, 3, 0, 2]
v: f64[3] = [nan, 0.5, -0.0]
i: i64[3] = [2, 0, 1]
d: i8[1,3] = [[1, -2, 3]]
$ viewfold run g.vf --in x=[[9,8]] --in y=[2,1,3] --in z=[[1],[2],[3],[2],[-5]]
s: u32[1,2] = [[9, 8]]
a: i64[3] = [1, 0, 2]
v: f64[3] = [3.0, 2.0, 1.0]
i: i64[3] = [2, 0, 1]
d: i8[5,1] = [[3], [2], [2], [1], [-5]]
$ viewfold run g.vf --in x=[[9,8]] --in y=[2,1,3] --in z=[[1]] --time | tail -n 1 | grep -o '"bytes":[0-9]*,' | grep -Ec ':[0-9]{1,6},'
1

== a sort says which bound it needs
<<< g.vf
graph @g(%x: f32[n=1..1099511627776]) {
  %s = sort %x
  return %s
}
>>>
$ viewfold run g.vf --in x=[1]
! g.vf:2:3: error: sort: axis 0 has size n; x has shape f32[n]; at most 2^32 elements are sorted; needs n <= 4294967296, known: 1 <= n <= 1099511627776; declare n=1..4294967296
? 2

== a range that may overflow its dtype says which bound it needs
<<< g.vf
graph @g(%x: i8[n=1..1099511627776]) {
  %a = arange start=5 stop=n step=3 dtype=i16
  return %a
}
>>>
$ viewfold run g.vf --in x=[0]
! g.vf:2:3: error: arange: of max(((n//3)+-1), 0) numbers from 5 by 3, i16 holds the first 10921 alone; use another dtype; needs max(((n//3)+-1), 0) <= 10921, known: 0 <= max(((n//3)+-1), 0) <= 366503875924; declare n=1..32768
? 2
$ sed 's/1099511627776/32768/' g.vf > h.vf && viewfold run h.vf --in x=[0,0,0,0,0,0,0,0,0,0]
a: i16[2] = [5, 8]

== a variable of one value is that number
<<< g.vf
graph @g(%x: i64[n=1..1,2,1], %y: i64[1,2,1]) {
  %a = add %x, 1 : i64[n,2,1]
  %b = add %a, %y : i64[n,2,1]
  %s = sum %b axes=[1] keepdims=true : i64[1,1,n]
  return %b, %s
}
>>>
$ viewfold run g.vf --in x=[[[3],[4]]] --in y=[[[10],[20]]]
b: i64[1,2,1] = [[[14], [25]]]
s: i64[1,1,1] = [[[39]]]
$ viewfold dump --stage=graph g.vf | viewfold dump --stage=graph - | head -n 1
graph @g(%x: i64[n=1..1,2,1], %y: i64[1,2,1]) {

== indices of more than 64 bits are refused when a run's sizes need them
<<< g.vf
graph @g() {
  %i = iota shape=[(n=1..1099511627776)*(m=1..1099511627776)] dtype=i64
  %r = reshape %i shape=[n,m]
  %p = shrink %r bounds=[[n-1,n],[m-1,m]]
  return %p
}
>>>
$ viewfold run g.vf --size n=1073741824 --size m=1048576
p: i64[1,1] = [[1125899906842623]]
$ viewfold run g.vf --size n=1099511627776 --size m=1048576
p: i64[1,1] = [[1152921504606846975]]
$ viewfold run g.vf --size n=1099511627776 --size m=1099511627776
! viewfold run: graph @g: step 1 of 1 (kernel): for these values of its variables, numbers of elements or their indices need more than 64 bits; give smaller sizes
? 2

== more sizes in one sum than a linear form holds
$ seq 1 40 | awk '{ p = p (NR > 1 ? ", " : "") "%x" $1 ": f32[n" $1 "=1..1000]"; q = q (NR > 1 ? ", " : "") "%x" $1 }
>   END { printf "graph @g(%s) {\n  %%c = concat %s axis=0\n  %%s = sum %%c axes=[0]\n  return %%s, %%c\n}\n", p, q }' > g.vf
$ viewfold run g.vf $(for i in $(seq 1 40); do echo "--in x$i=[$i,0.5]"; done) --check | cut -c1-60
s: f32[] = 840.0
c: f32[80] min 0.5 max 40.0 mean 10.5 first 1.0 0.5 2.0 0.5[..]
check s: 1 element, bit-equal
check c: 80 elements, bit-equal

== a size that is a quotient, divided again by windows
<<< g.vf
graph @g(%x: f32[(((r=2..1073741824)+1)//2)], %y: f32[1,1,(((n=15..1099511627776:3)+1)//2)], %w: f32[2,1,1]) {
  %a = max_pool %x kernel=[1] stride=[3] padding=[0]
  %b = conv %y, %w stride=[2] padding=[[1,1]]
  return %a, %b
}
>>>
$ viewfold run g.vf --size r=9 --size n=15 --in x=[1,2,3,4,5] --in y=[[[1,2,3,4,5,6,7,8]]] --in w=[[[1]],[[-1]]] --check
a: f32[2] = [1.0, 4.0]
b: f32[1,2,5] = [[[0.0, 2.0, 4.0, 6.0, 8.0], [0.0, -2.0, -4.0, -6.0, -8.0]]]
check a: 2 elements, bit-equal
check b: 10 elements, bit-equal

== a choice whose condition is true, where an index may exceed 64 bits
<<< g.vf
graph @g(%x: u32[n=3..4294967295,n]) {
  %least, %most = minmax %x axes=[1] keepdims=true
  %some = stride %most steps=[3,-2]
  %all = slice_update %most, %least start=[0,0]
  %wide = cast %some dtype=f64
  return %wide, %all
}
>>>
$ viewfold run g.vf --in x=[[4,0,9],[1,4294967295,7],[3,7,5]]
wide: f64[1,1] = [[9.0]]
all: u32[3,1] = [[0], [1], [3]]

== a size written in another way, where its variable is a multiple of 16
<<< g.vf
graph @g(%x: i16[(n=16..1073741824:16)//16,n//8], %y: i16[n,(m=4..64:4)//2]) {
  %a = flatten %x : i16[(n//4)*(n//16)//2]
  %b = flatten %y : i16[m//4*n*2]
  return %a, %b
}
>>>
$ viewfold dump --stage=graph g.vf
graph @g(%x: i16[(n=16..1073741824:16//16),(n//8)], %y: i16[n,(m=4..64:4//2)]) {
  %a = reshape %x shape=[((n//8)*(n//16))] : i16[((n//8)*(n//16))]
  %b = reshape %y shape=[(n*(m//2))] : i16[(n*(m//2))]
  return %a, %b
}

== a size of several terms divides its multiples
<<< g.vf
graph @g(%x: bf16[r=2..6:3,(r+1)//2,r//3,m=4..1099511627779:2]) {
  %y = reshape %x shape=[r,(r+1)//2,r//3,-1]
  %z = reshape %x shape=[(r+1)//2,r//3,-1]
  return %y, %z
}
>>>
$ viewfold dump --stage=graph g.vf | grep -o ': bf16.*m.*'
: bf16[r=2..6:3,(r+((r//2)*-1)),(r//3),m=4..1099511627779:2]) {
: bf16[(r+((r//2)*-1)),(r//3),(m*r)]
: bf16[r,(r+((r//2)*-1)),(r//3),m]

== quotients whose dividends are multiples of 16, and halves and thirds of products
<<< g.vf
graph @g(%x: f32[5,(n=3..2097152:4)//4,(s=16..64:16)*3,1], %y: f16[1,(m=20..2097155:4)*(m//2)//3], %z: f16[1,m*m]) {
  %a = reshape %x shape=[5,n//4,8,3,-1,1]
  %b = stride %z steps=[3,-2]
  %c = slice_update %b, %y start=[0,0]
  return %a, %c
}
>>>
$ viewfold dump --stage=graph g.vf | grep -e 'slice\|reshape %x' -e 'return'
  %a = reshape %x shape=[5,(n//4),8,3,(s//8),1] : f32[5,(n//4),8,3,(s//8),1]
  return %a, %c
