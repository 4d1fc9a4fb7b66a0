# viewfold index --raw: the textbook rules alone.

== the four fixed strings
$ viewfold index --raw 'f32[2,2]'
((ridx0*2)+ridx1)
$ viewfold index --raw 'f32[3,2].permute(1,0).reshape(3,2)'
(((((ridx0*2)+ridx1)%3)*2)+(((ridx0*2)+ridx1)//3))
$ viewfold index --raw 'f32[4,6].permute(1,0).reshape(2,12)'
(((ridx0*3)+(ridx1//4))+((ridx1%4)*6))
$ viewfold index --raw 'f32[3].pad((2,1))'
(ridx0+-2)
valid: ((ridx0<5)&((ridx0<2)!=True))

== a padded vector, reshaped
$ viewfold index --raw 'f32[3].pad((1,2)).reshape(2,3)'
(((ridx0*3)+ridx1)+-1)
valid: ((((ridx0*3)+ridx1)<4)&(((ridx0+ridx1)<1)!=True))

== four elements repeated, as windows of three
$ viewfold index --raw 'f32[4].reshape(1,4).expand(3,4).reshape(12).shrink((0,10)).reshape(2,5).shrink((0,2),(0,3))'
(ridx0+ridx1)

== multiples of the divisor divide without a remainder, and a remainder of a value below its divisor vanishes
$ viewfold index --raw 'f32[3,4].reshape(12).reshape(3,4).permute(0,1)'
((ridx0*4)+ridx1)
$ viewfold index --raw 'f32[12].reshape(2,6).reshape(12).reshape(3,4)'
((ridx0*4)+ridx1)

== common factors leave a remainder
$ viewfold index --raw 'f32[4,4].permute(1,0).reshape(16).stride(2)'
(((ridx0%2)*8)+(ridx0//2))
