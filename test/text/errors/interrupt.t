# Ctrl-C: the work ends, nothing is written, and a message says so.

<<< endless.vf
graph @more(%x: f32[4]) {
  %y = less %x, inf
  %z = all %y
  return %z
}
graph @step(%x: f32[4]) {
  %y = mul %x, 0.5
  return %y
}
graph @g(%x: f32[4]) {
  %y = while_loop %x while=@more do=@step
  return %y
}
>>>
<<< interrupt.sh
# Ends a command by Ctrl-C after a second; where it was not up by then, as on a busy machine, after longer.
for seconds in 1 4 16 64; do
  said=$(timeout --preserve-status -s INT $seconds "$@" 2>&1)
  status=$?
  [ -n "$said" ] && break
done
printf '%s\n' "$said" >&2
exit $status
>>>
== a run, whose results are not written
$ sh interrupt.sh viewfold run endless.vf --in x='[1,2,3,4]' --out y=y.npy
! viewfold run: interrupted
? 130
== afterwards nothing is left
$ ls
endless.vf
interrupt.sh
== on a mesh
$ sh interrupt.sh viewfold run endless.vf --mesh x=2 --in x='[1,2,3,4]'
! viewfold run: interrupted
? 130
