# Exact quotients of one size are multiples of one another, and a minimum is at most each of its operands.

== multiples of exact quotients have one form
$ viewfold index 'f32[5,4,(n=8..1024:8)//8].reshape(5*(n//2)).reshape(5,4,n//8).permute(1,0,2)'
((ridx2+(ridx0*(n//8)))+(ridx1*(n//2)))
$ viewfold index 'f32[5,2,(n=8..1024:8)//2].reshape(5*n).reshape(5,8,n//8).permute(1,0,2)'
((ridx2+(n*ridx1))+(ridx0*(n//8)))
$ viewfold index 'f32[8*((n=8..1024:16)//16)].reshape(n//2)'
ridx0
$ viewfold index 'f32[(n=8..1024:8)//8*3].reshape(3*n//8)'
ridx0
$ viewfold index 'f32[(n=8..1024:8)//4+n//8].reshape(3*(n//8))'
ridx0

== a digit with a symbolic radix is less than that radix
$ viewfold index 'f32[5,4,(n=4..1024:4)//4].reshape(5*n).reshape(5,4,n//4).permute(1,0,2)'
((ridx2+(n*ridx1))+(ridx0*(n//4)))

== exact quotients in shapes with other sizes
<<< g.vf
graph @g(%x: bf16[r=15..4096:3,(s=128..2097152:128)//64,3], %y: f32[(m=16..1099511627776:16)//16*8,7]) {
  %a = reshape %x shape=[r,6,s//128]
  %b = swap_axes %y axis1=0 axis2=1 : f32[7,m//2]
  %c = shrink %y bounds=[[0,m//2],[0,7]] : f32[m//16*8,7]
  %d = concat %x, %x, %x axis=1 : bf16[r,6*(s//128),3]
  return %a, %b, %c, %d
}
>>>
$ viewfold dump --stage=graph g.vf
[...]
  return %a, %b, %c, %d
}

== a minimum is at most each of its operands
<<< g.vf
graph @g(%x: u8[4,r=3..8589934595], %y: f16[((n=2..8589934592:2)//2)+4]) {
  %a = shrink %x bounds=[[0,4],[0,min(r,5)]]
  %b = shrink %y bounds=[[n//2+4-min(6,n//2+4),n//2+4]]
  %c = pad %a pads=[[0,0],[0,r-min(5,r)]] : u8[4,r]
  %d = shrink %a bounds=[[0,4],[0,min(r,4)]]
  return %a, %b, %c, %d
}
>>>
$ viewfold dump --stage=graph g.vf
[...]
  return %a, %b, %c, %d
}

== products of quotients of two sizes
<<< g.vf
graph @g(%x: u64[(n=16..64:16)//8,(m=16..4096:16)//4], %y: i64[2,m//2,m//16,4]) {
  %a = reshape %x shape=[m//2*(n//16)]
  %b = reshape %x shape=[m//16,-1] : u64[m//16,n//2]
  %c = point %y index=1 axis=0
  return %a, %b, %c
}
>>>
$ viewfold dump --stage=loops g.vf > out

== windows over a quotient of a size
<<< g.vf
graph @g(%x: f32[1,(n=640..4294967168:128)//128], %y: f32[5,(r=15..2097152:3)//3+3]) {
  %a = avg_pool %x kernel=[3] stride=[3] padding=[1]
  %b = avg_pool %y kernel=[1] stride=[3]
  return %a, %b
}
>>>
$ viewfold dump --stage=graph g.vf > out

== halves of products of sizes
<<< g.vf
graph @g(%x: f32[n=1..1048576]) {
  %a = ones shape=[n*n-(n+n*n)//2]
  %b = ones shape=[(n*n)//2-n+1]
  %c = ones shape=[3*n*n-3*((n*n+1)//2)]
  return %x, %a, %b, %c
}
>>>
$ viewfold dump --stage=graph g.vf > out

== a variable of few values
<<< g.vf
graph @g(%x: i64[((n=1..9)+7)//3,(n+4)//5,3]) {
  %a = point %x index=(n+7)//3//2 axis=0
  return %a
}
>>>
$ viewfold dump --stage=graph g.vf > out
