# What kernels are for: the statements of the text.

== a scan over slices that are the same in each iteration: one of them is a part of the value
<<< same.vf
graph @b(%s: f32[8], %x: f32[8]) {
  %t = add %s, %x
  %u = tanh %t
  return %u, %u
}
graph @g(%a: f32[8], %n: f32[]) {
  %q = reshape %n shape=[1,1]
  %e = expand %q shape=[6,8]
  %m = neg %e
  %l, %r = scan %a, %m do=@b carries=1
  return %r
}
>>>
$ viewfold dump --stage=kernels --graph g same.vf | head -n 6
graph @g: 2 kernels, 3 temporaries
\
kernel 0 -> temporary 0 of %m f32[8]
  for     %q = reshape %n shape=[1,1] (line 7)
          %e = expand %q shape=[6,8] (line 8)
          %m = neg %e (line 9)
