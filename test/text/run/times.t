# VIEWFOLD_DEBUG=time: how long each part of a compilation took.

== parts of the graph, of its step and of its kernel; nothing is compiled the second time
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

== several rows have a sum
<<< two.vf
graph @two(%x: f32[8,4]) {
  %s = sum %x axes=[1]
  %y = cumsum %s axis=0
  return %s, %y
}
>>>
$ VIEWFOLD_DEBUG=time viewfold run two.vf --in 'x=[[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4],[1,2,3,4]]' 2>&1 | grep -c '^sum  '
2

== not asked for
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
y: f32[4] = [4.0, 3.0, 2.0, 1.0]
