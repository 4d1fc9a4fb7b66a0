# The best schedule depends on the machine, so these tests assert only what holds for every one.
<<< blur.vf
graph @blur(%x: f32[64,96]) {
  %t = permute %x order=[1,0]
  %h = mul %t, 0.5
  return %h
}
>>>
<<< sized.vf
graph @sized(%x: f32[n=1..1000,8]) {
  %y = add %x, 1.0
  return %y
}
>>>
<<< taken.vf
graph @taken(%x: f32[10,4], %i: i32[6], %flag: bool[]) {
  %y = gather %x, %i axis=0
  %z = where %flag, %y, 0.0
  return %z
}
>>>

== each kernel is measured, and the schedule found can be given to run
$ viewfold tune blur.vf --seconds 0.3 -o blur.loops --dry-run
kernel 0: [..] ms, [..] tried
[...]
$ viewfold run blur.vf --in x=3 --schedule blur.loops
! viewfold run: %x is f32[64,96], but the value given holds f32[]: 0 axes found, 2 expected
? 2
$ viewfold dump --stage=loops --schedule blur.loops blur.vf | head -n 1
\# kernel 0 nest 0: [..]
$ viewfold tune --list
nothing is tuned

== unknown sizes are asked for
$ viewfold tune sized.vf --seconds 0.1
! viewfold tune: cannot make up inputs: the size n is not known; give it as --size n=VALUE
! Try 'viewfold tune --help'.
? 2
$ viewfold tune sized.vf --seconds 0.1 --size n=50 --dry-run
kernel 0: [..] ms, [..] tried
[...]

== generated indices of a gather are within its axis, whatever operations are in between
$ viewfold tune taken.vf --seconds 0.1 --dry-run
kernel 0: [..] ms, [..] tried
[...]
$ viewfold tune taken.vf --seconds 0.1 --in 'i=[0,1,2,3,4,11]'
! viewfold tune: graph @taken: launch 1 of 1 ([..]) read an index that is out of range; [..]
? 2

== kept schedules are in the cache, and can be forgotten
$ viewfold tune --forget
0 kernels forgotten
$ viewfold tune --forget blur.vf
0 kernels forgotten

== usage
$ viewfold tune
! viewfold tune: no file given; for example: viewfold tune blur.vf
! Try 'viewfold tune --help'.
? 2
$ viewfold tune blur.vf --seconds -1
! viewfold tune: --seconds takes a number up to 86400, found '-1'
! Try 'viewfold tune --help'.
? 2
$ viewfold tune --list blur.vf
! viewfold tune: --list takes no file and no --forget
! Try 'viewfold tune --help'.
? 2

== a signal ends the search, and the schedule found so far is reported, written and kept
<<< long.vf
graph @long(%x: f32[1500,1500], %w: f32[1500,1500]) {
  %s = matmul %x, %w
  %y = softmax %s axis=-1
  return %y
}
>>>
# Bit 14 of the caught signals is SIGTERM, set once the search has begun; then the search gets a moment to
# find a schedule.
$ viewfold tune long.vf --seconds 1000 -o long.loops > out & pid=$!
> until grep -q '^SigCgt:.*[4-7c-f]...$' /proc/$pid/status || ! kill -0 $pid; do sleep 0.1; done
> sleep 2; kill -TERM $pid; wait $pid
! viewfold tune: stopped by signal 15; what was found before is kept
? 143
$ grep -o '^kernel 0: [0-9.]* ms, ' out | wc -l
1
$ grep '^  nest' out | cut -c3- > found; cut -d' ' -f3- long.loops | cmp - found && echo written
written
$ if viewfold tune --list | grep '^nest' > kept || grep -q nest out; then sort -u found > a; sort -u kept | cmp - a; fi && echo kept
kept

== a schedule that cannot be kept is a failure
<<< transposed.vf
graph @transposed(%x: f32[96,50,70]) {
  %t = permute %x order=[2,0,1]
  %y = exp %t
  return %y
}
>>>
$ VIEWFOLD_CACHE_DIR=/dev/null/none viewfold tune transposed.vf --seconds 3 -o transposed.loops > out 2> errors; echo $? > status
$ if grep -q nest out; then cat status; grep -v "^viewfold: cache: .dev.null.none is not used" errors | cut -d: -f1-3; test -s transposed.loops && echo written; else printf '2\nviewfold tune: what was found could not be kept: the cache cannot be written\nwritten\n'; fi
2
viewfold tune: what was found could not be kept: the cache cannot be written
written
