# viewfold index --explain: why views did not merge, what remains and what it costs. Index expressions
# themselves are tested elsewhere.

== nothing to explain
$ viewfold index --explain 'f32[3,2].permute(1,0)'
index: (ridx0+(ridx1*2))
views: 1
  V((2,3);(1,2);0)
masks: none, every index is valid
divisions: none
cost: 2 operations
loop axes: 2, 3, as they are

== rows that do not nest
$ viewfold index --explain 'f32[3,2].permute(1,0).reshape(3,2)'
index: [..]
views: 2
  V((2,3);(1,2);0)
  which does not merge with the next:
    rows of 3 elements (axis 1 of the view above, of size 3) end within the view below; the number of the row:
      along axis 0 (3 elements) it changes at unequal distances, as 2 does not divide 3
  V((3,2);(2,1);0)
masks: none, every index is valid
[...]
loop axes: those before the last reshape, as the result is stored in order: 2, 3
  over these axes, numbered in order, the index is (ridx0+(ridx1*2))
  without any division

== rows that would nest
$ viewfold index --explain 'f32[4,6].permute(1,0).reshape(2,12)' | grep -A3 above
    rows of 4 elements (axis 1 of the view above, of size 4) end within the view below; the number of the row:
      along axis 1 (12 elements) it changes at index 4 and every 4 from there; with the axis split into 3 x 4, it would change along the first alone
  V((2,12);(12,1);0)
masks: none, every index is valid
$ viewfold index --explain 'f32[4,6].permute(1,0).reshape(2,12).permute(1,0)' | tail -4
cost: [..]
loop axes: 3 x 4, 2
  over these axes, numbered in order, the index is ((ridx0+(ridx1*6))+(ridx2*3))
  without any division

== rows whose end divides the axis into unequal intervals
$ viewfold index --explain 'f32[1,6].expand(2,6).reshape(12).shrink((2,8))' | tail -7
  V((6,);(1,);2)
masks: none, every index is valid
divisions: 1
  ((ridx0+2)%6)
    along axis 0 (6 elements) it changes at index 4; that does not divide the axis into equal intervals
cost: 2 operations, one of them a division, which counts 4 more: 6
loop axes: 6, as they are

== several axes together
$ viewfold index --explain 'f32[2,2].pad((0,1),(0,1)).reshape(9).shrink((0,4)).reshape(2,2)' | grep 'along each axis'
      along each axis alone it is constant, but along several at once it passes a multiple of 3

== masks that are bounds, and masks that are not
$ viewfold index --explain 'f32[3].pad((1,2))'
index: (ridx0+-1)
views: 1
  V((6,);(1,);-1;((1,4),))
masks:
  (ridx0>=1): axis 0 begins with 1 element of padding; a bound of its loop
  (ridx0<4): axis 0 ends with 2 elements of padding; a bound of its loop
divisions: none
cost: 4 operations
loop axes: 6, as they are
$ viewfold index --explain 'f32[2,3].pad((0,0),(1,1)).reshape(5,2)' | grep mask
    mask (1,4) of axis 1 of the view above, of size 5, is no box-shaped mask of the view below
masks:
$ viewfold index --explain 'f32[2,3].pad((0,0),(1,1)).reshape(5,2)' | grep -c 'not a bound of a single axis, so it is tested in the loop'
2
$ viewfold index --explain 'f32[3].pad((2,0)).shrink((0,2))' | sed -n 4p
masks: no index is valid, the result is all padding

== reshapes that merged after all
$ viewfold index --explain 'f32[2,3].pad((1,1),(1,0)).reshape(2,8).shrink((1,2),(0,8))' | sed -n 2,3p
views: 1; 1 reshape needed another view, of which 1 merged
  V((1,8);(0,1);2;((0,1),(1,4)))

== symbolic sizes
$ viewfold index --explain 'f32[n=4..64:4,32].permute(1,0).reshape(n//4,128)' | sed -n 2,6p
views: 2
  V((32,n);(1,32);0)
  which does not merge with the next:
    sizes are variables, and their bounds and divisors do not prove that rows and masks fit
  V(((n//4),128);(128,1);0)

== padding by elements has no views
$ viewfold index --explain 'f32[4].pad((1,2),mode=wrap)' | sed -n 2,3p
views: none; pad: padding by elements is no view of fixed strides; its index expression says where it reads
masks: none, every index is valid

== one form at a time
$ viewfold index --explain --views 'f32[2]'
! viewfold index: --explain goes with none of --raw, --views and --json
! Try 'viewfold index --help'.
? 2
