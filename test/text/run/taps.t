# Values that are shown while a graph runs, on standard error.
<<< sums.vf
graph @body(%s: f32[], %x: f32[]) {
  %n = add %s, %x
  %t = print %n text="sum is {} now"
  %u = tap %x name="x"
  return %n
}
graph @sums(%xs: f32[3], %long: f32[20]) {
  %t = tap %long name="long"
  %y = scan 0.0, %xs carries=1 sliced=1 do=@body
  return %y
}
>>>

== in a loop, though nothing needs them
$ viewfold run sums.vf --in xs=[1,2,3] --in long=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20] --check
! long: f32[20] min 1.0 max 20.0 mean 10.5 first 1.0 2.0 3.0 4.0 5.0 6.0 ...
! sum is 1.0 now
! x: f32[] = 1.0
! sum is 3.0 now
! x: f32[] = 2.0
! sum is 6.0 now
! x: f32[] = 3.0
y: f32[] = 6.0
check y: 1 element, bit-equal
