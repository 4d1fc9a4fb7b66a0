# `viewfold rules`: the table of rules; and tracing them.

== the table: name, left side, right side, condition, and the reason below
$ viewfold rules | grep -A 1 '^div_by_one '
div_by_one  [..]  x // 1  [..]  => x
[..]  n/1 is n
$ viewfold rules | awk '/ => /{rules++; at = index($0, "=>"); if (at != before && before) print "not aligned: " $0; before = at} !/ => /{reasons++} END {print (rules == reasons), (rules > 20)}'
1 1

== the example in the help is what the command prints
$ viewfold rules --help | sed -n '/^  \$ /,/^$/p' | sed '1d;s/^  //;/^$/d;s/  */ /g' > said
$ viewfold rules | grep -A 1 div_of_sum | sed 's/  */ /g' | diff said -

== as JSON, one rule per line
$ viewfold rules --json | head -1
{"set":"index","name":"div_by_one","left":"x // 1","right":"x","condition":null,"witness":null,"reason":"n/1 is n"}
$ test $(viewfold rules --json | wc -l) = $(viewfold rules | grep -c ' => ') && echo as many
as many

== no arguments
$ viewfold rules all
! viewfold rules: no arguments expected, found 'all'
! Try 'viewfold rules --help'.
? 2

== each rewrite is shown with its number and its rule, before and after
$ viewfold index --trace-rules 'f32[6,4].permute(1,0).reshape(24).reshape(2,2,6)' 2> trace
[..]
$ grep -c -E '^[0-9]+ [a-z_]+: .+ => .+$' trace > lines; test $(cat lines) -gt 0 && test $(cat lines) = $(wc -l < trace) && echo every line
every line
$ awk '{ if ($1 != NR) print "number " $1 " on line " NR }' trace

== a dump is traced as well
$ viewfold dump --trace-rules --stage=index 'f32[6,4].permute(1,0).reshape(2,12)' 2> trace > out
$ head -1 trace
1 [..]: [..] => [..]
$ viewfold dump --stage=index 'f32[6,4].permute(1,0).reshape(2,12)' | diff out -

== bisect=N refuses every rewrite after the N-th
$ chain='f32[6,4].permute(1,0).reshape(24).pad((1,2)).reshape(3,9)'
> for n in 0 1 4; do VIEWFOLD_DEBUG=bisect=$n viewfold index --trace-rules "$chain" 2>&1 >/dev/null | grep -c '=>'; done
0
1
4
$ chain='f32[6,4].permute(1,0).reshape(24).pad((1,2)).reshape(3,9)'
> viewfold index "$chain" > all; VIEWFOLD_DEBUG=perf,bisect=100000 viewfold index "$chain" | diff all -
> VIEWFOLD_DEBUG=bisect=0 viewfold index "$chain" | cmp -s all - || echo not simplified
not simplified

== the result is the same, however many rewrites are refused
$ chain='f32[2,3].permute(1,0).reshape(6).pad((1,2)).reshape(3,3).flip(0)'
> for n in 0 1 2 3 5 8 13; do VIEWFOLD_DEBUG=bisect=$n viewfold run "$chain" --in 'x=[[1,2,3],[4,5,6]]'; done | sort -u
y: f32[3,3] = [[6.0, 0.0, 0.0], [2.0, 5.0, 3.0], [0.0, 1.0, 4.0]]

== a bisect value that is not a number
$ VIEWFOLD_DEBUG=bisect=x viewfold index 'f32[4]'
! viewfold index: VIEWFOLD_DEBUG takes perf, time, cache, log, nan, inf and a number of rewrites, as in bisect=17, found 'bisect=x'
! Try 'viewfold index --help'.
? 2
