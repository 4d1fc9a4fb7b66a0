# VIEWFOLD_DEBUG=time: how long each step of a compilation took.

== times of the graph, of its step and of its kernel; nothing is compiled the second time
$ VIEWFOLD_DEBUG=time viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] 2> parts
y: f32[4] = [4.0, 3.0, 2.0, 1.0]
$ awk 'NR % 2 { names = NF } NR % 2 == 0 { print names - NF }' parts
1
0
0
$ grep -o -w -E 'graph|read|find|schedule|load|store|us|step|fold|loops|kernel|emit|select|link' parts | paste -s -d' '
graph read find schedule load store us step fold loops us kernel read emit select link store us
$ tail -n 1 parts
0 bytes of memory for intermediates
$ VIEWFOLD_DEBUG=time viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] 2> parts
y: f32[4] = [4.0, 3.0, 2.0, 1.0]
$ sed 's/  *[0-9][0-9]*\.[0-9]/ N/g; s/  */ /g' parts
graph read print find us
 N N N N
0 bytes of memory for intermediates

== several rows are followed by their sum
<<< two.vf
graph @two(%x: f32[8,4]) {
  %s = sum %x axes=[1]
  %y = cumsum %s axis=0
  return %s, %y
}
>>>
$ VIEWFOLD_DEBUG=time viewfold run two.vf --in 'x=[[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4]]' 2>&1 | grep -c '^sum  '
2

== without the setting nothing is printed
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
y: f32[4] = [4.0, 3.0, 2.0, 1.0]

== layers of one shape share their kernels
<<< layers.vf
graph @two(%x: f32[8,8], %w: f32[8,8], %v: f32[8,8]) {
  %a = matmul %x, %w
  %b = softmax %a axis=-1
  %c = matmul %b, %v
  %d = softmax %c axis=-1
  return %d
}
graph @four(%x: f32[8,8], %w: f32[8,8], %v: f32[8,8]) {
  %a = matmul %x, %w
  %b = softmax %a axis=-1
  %c = matmul %b, %v
  %d = softmax %c axis=-1
  %e = matmul %d, %w
  %f = softmax %e axis=-1
  %g = matmul %f, %v
  %h = softmax %g axis=-1
  return %h
}
>>>
$ viewfold run 'f32[64].reshape(8,8)' --in "x=[$(seq -s, 64)]" --out y=x.npy
$ for g in two four; do
>   VIEWFOLD_CACHE_DIR=$g VIEWFOLD_DEBUG=time viewfold run layers.vf --graph $g --in x=x.npy --in w=x.npy --in v=x.npy 2> $g.txt > /dev/null
>   grep -c '^vf_' $g.txt > $g.count
> done; cmp two.count four.count
$ VIEWFOLD_DEBUG=time viewfold run layers.vf --graph two --in x=x.npy --in w=x.npy --in v=x.npy 2>&1 | grep -c '^[0-9]' > steps
$ test $(cat two.count) -lt $(cat steps)

== unknown words, alone or in a list
$ for w in times TIME all 1 time,bad; do VIEWFOLD_DEBUG=$w viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] 2> said; echo $?; head -n 1 said; done
2
viewfold run: VIEWFOLD_DEBUG takes perf, time, cache, log, nan, inf and a number of rewrites, as in bisect=17, found 'times'
2
viewfold run: VIEWFOLD_DEBUG takes perf, time, cache, log, nan, inf and a number of rewrites, as in bisect=17, found 'TIME'
2
viewfold run: VIEWFOLD_DEBUG takes perf, time, cache, log, nan, inf and a number of rewrites, as in bisect=17, found 'all'
2
viewfold run: VIEWFOLD_DEBUG takes perf, time, cache, log, nan, inf and a number of rewrites, as in bisect=17, found '1'
2
viewfold run: VIEWFOLD_DEBUG takes perf, time, cache, log, nan, inf and a number of rewrites, as in bisect=17, found 'bad'
$ for c in "dump --stage=loops" explain index show tune; do VIEWFOLD_DEBUG=bad viewfold $c 'f32[4].flip(0)' > /dev/null 2>&1; echo $?; done | sort | uniq -c | tr -s ' '
 5 2
$ VIEWFOLD_DEBUG=perf,time viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] 2> parts
y: f32[4] = [4.0, 3.0, 2.0, 1.0]
$ tail -n 1 parts
0 bytes of memory for intermediates
