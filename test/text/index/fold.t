# viewfold index: index expressions of chains.

== a contiguous buffer
$ viewfold index 'f32[2,2]'
((ridx0*2)+ridx1)

== the examples in the help are what the command prints
$ viewfold index 'f32[3,2].permute(1,0)'
(ridx0+(ridx1*2))
$ viewfold index 'f32[4].pad((1,2))'
(ridx0+-1)
valid: ((ridx0>=1)&(ridx0<5))
$ viewfold index --help | grep -c -F "$(viewfold index 'f32[3,2].permute(1,0)')"
1
$ viewfold index --help | grep -c -F "$(viewfold index 'f32[4].pad((1,2))')"
2

== a single element has index 0
$ viewfold index 'f32[]'
0
$ viewfold index 'f32[1,1].expand(1,1)'
0

== an empty buffer and a result that is all padding read nothing
$ viewfold index 'f32[0,3]'
0
valid: False
$ viewfold index 'f32[2].pad((0,2)).shrink((2,4))'
0
valid: False

== transposed and reshaped
$ viewfold index 'f32[3,2].permute(1,0).reshape(3,2)'
(ridx1+((ridx1-ridx0)%5))
$ viewfold index 'f32[4,6].permute(1,0).reshape(2,12)'
((ridx0*3)+((ridx1*6)%23))

== reshapes that undo each other vanish
$ viewfold index 'f32[4,6].reshape(2,2,3,2).reshape(24).reshape(4,6)'
((ridx0*6)+ridx1)

== a reshaped or narrowed padding keeps the masks that it needs
$ viewfold index 'f32[3].pad((1,2)).reshape(2,3)'
(((ridx0*3)+ridx1)+-1)
valid: ((((ridx0*3)+ridx1)>=1)&(((ridx0*3)+ridx1)<4))
$ viewfold index 'f32[2,3].pad((1,1),(1,1)).shrink((1,3),(1,4))'
((ridx0*3)+ridx1)

== four elements repeated, as windows of three
$ viewfold index 'f32[4].reshape(1,4).expand(3,4).reshape(12).shrink((0,10)).reshape(2,5).shrink((0,2),(0,3))'
(ridx0+ridx1)

== flips and strides
$ viewfold index 'f32[5,4].flip(0)'
((ridx1-(ridx0*4))+16)
$ viewfold index 'f32[6].stride(-4)'
(5-(ridx0*4))

== padding by elements
$ viewfold index 'f32[4].pad((1,2),mode=edge)'
max(min((ridx0+-1), 3), 0)
$ viewfold index 'f32[4].pad((1,2),mode=reflect)'
min((7-ridx0), max((ridx0+-1), (1-ridx0)))
$ viewfold index 'f32[4].pad((1,2),mode=wrap)'
((ridx0+3)%4)

== axes are inserted and dropped
$ viewfold index 'f32[4,6].unsqueeze(1).squeeze(1).point(0,-1)'
(ridx0+18)

== gathers print the table of their indices
$ viewfold index 'f32[3,4].gather(0,[2,0,-1])'
(([2,0,2][ridx0]*4)+ridx1)
$ viewfold index 'f32[8].gather(0,[[0,2],[4,6]])'
[0,2,4,6][((ridx0*2)+ridx1)]
$ viewfold index 'f32[8].gather(0,[6]).pad((1,0))'
6
valid: (ridx0>=1)

== symbolic sizes
$ viewfold index 'f32[n=4..64:4,32].reshape(n//4,128)'
((ridx0*128)+ridx1)
$ viewfold index 'f32[n=4..64,32].permute(1,0)'
(ridx0+(ridx1*32))
$ viewfold index 'f32[n=4..64].pad((1,1))'
(ridx0+-1)
valid: ((ridx0>=1)&(n>=ridx0))

== a validity of few values, without a quotient
$ viewfold index 'f32[2,1].pad((0,0),(2,0)).reshape(3,2)'
ridx1
valid: ((ridx0-ridx1)==1)
$ viewfold index 'f32[2,8,1].shrink((1,2),(3,5),(0,1)).pad((1,0),(0,0),(2,2)).reshape(20)'
((ridx0//5)+9)
valid: ((ridx0==12)|(ridx0==17))
$ viewfold index 'f32[4,7,2,9].permute(0,3,2,1).pad((0,0),(3,2),(0,0),(0,0)).reshape(98,8).reshape(14,4,14).shrink((8,14),(3,4),(0,9))'
((((ridx0*4)+(((ridx0+2)//4)*112))+256)+((ridx2*18)%117))
valid: ((ridx0<5)&(ridx0!=2))

== what the index shares with its quotient, beside it or inside
$ viewfold index 'f32[3,8].shrink((0,3),(0,4)).reshape(2,6)'
(((ridx0*2)+ridx1)+(((((ridx0*2)+ridx1)//4)+(ridx0*2))*4))
$ viewfold index 'f32[4,3,3].shrink((0,4),(1,2),(0,3)).reshape(12).stride(2)'
(((ridx0*2)+3)+(((ridx0*2)//3)*6))
