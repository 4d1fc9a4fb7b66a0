# Programs run for measuring have a budget of work.
<<< scan.vf
graph @once(%c: f32[8]) {
  %v = add %c, 1.0
  return %v
}
graph @all(%c: f32[8]) {
  %v = scan %c do=@once length=9223372036854775807 carries=1
  return %v
}
graph @g(%x: f32[8]) {
  %y = scan %x do=@all length=9223372036854775807 carries=1
  return %y
}
graph @f(%x: f32[8]) {
  %y = scan %x do=@once length=1000 carries=1
  return %y
}
>>>

== a scan of too many iterations is not run, and the explanation says so
$ timeout 60 viewfold explain --graph all scan.vf | tail -n 1
      took    not run: a run takes at least [..] s, more than the 10 s that are spent on one
$ timeout 60 viewfold explain --graph g scan.vf | tail -n 1
          took    not run: a run takes at least [..] s, more than the 10 s that are spent on one

== a scan within the budget is run
$ viewfold explain --kernel all --graph f scan.vf | grep -c 'took .* ms, .*in each of 1000 iterations'
1
