# `viewfold show`: the page as text.
<<< rows.vf
graph @rows(%x: f32[4,3]) {
  %p = pad %x pads=[[1,1],[0,0]]
  %a = shrink %p bounds=[[0,4],[0,3]]
  %b = shrink %p bounds=[[2,6],[0,3]]
  %s = add %a, %b
  return %s
}
graph @other(%y: i32[n=2..8,3]) {
  %z = permute %y order=[1,0]
  return %z
}
>>>

== a whole page, to a file and to standard output
$ viewfold show 'f32[3,2].permute(1,0)' -o page.html
$ sed -n '1p;$p' page.html
<!DOCTYPE html>
</html>
$ viewfold show 'f32[3,2].permute(1,0)' | cmp - page.html
$ viewfold show 'f32[3,2].permute(1,0)' -o - | cmp - page.html

== it fetches nothing
$ viewfold show rows.vf -o page.html
$ grep -cE 'https?:|src=|href=|url[(]|@import|fetch[(]|XMLHttpRequest|WebSocket' page.html
0
? 1
$ grep -o "default-src 'none'" page.html
default-src 'none'

== each step with its strides, mask, expressions and rewrites
$ viewfold show 'f32[3,2].permute(1,0).pad((1,0),(0,0))' -o page.html
$ grep -oF '"views":[{"shape":["3","3"],"strides":["1","2"],"offset":"-1","begin":["1","0"],"end":["3","3"]}]' page.html
"views":[{"shape":["3","3"],"strides":["1","2"],"offset":"-1","begin":["1","0"],"end":["3","3"]}]
$ grep -oF "\"index\":\"$(viewfold index 'f32[3,2].permute(1,0).pad((1,0),(0,0))' | sed -n 1p)\"" page.html | sort -u | wc -l
1
$ grep -oE '"rule":"[a-z]' page.html | sort -u | wc -l | grep -c '[1-9]'
1

== the stages are the same as those of dump
$ viewfold show rows.vf --graph rows -o page.html
$ grep -oE '"name":"(graph|kernels|index|loops|llvm|asm)"' page.html
"name":"graph"
"name":"kernels"
"name":"index"
"name":"loops"
"name":"llvm"
"name":"asm"
$ grep -c '"name":"other"' page.html
0
? 1

== all graphs of a file, each with its variables
$ viewfold show rows.vf | grep -oE '"name":"(rows|other|n)"(,"lo":"2","hi":"8","divisor":"1")?'
"name":"rows"
"name":"other"
"name":"n","lo":"2","hi":"8","divisor":"1"

== symbolic sizes, strides and masks are expressions
$ viewfold show 'f32[n=4..64:4,3].permute(1,0).pad((0,0),(1,0))' | grep -oE '"shape":\["3","\(n\+1\)"\],"strides"[^}]*'
"shape":["3","(n+1)"],"strides":["1","3"],"offset":"-3","begin":["0","1"],"end":["3","(n+1)"]

== a step without strides says why
$ viewfold show 'f32[4].pad((1,1),mode=wrap)' | grep -oE '"no_views":"[^"]*"'
"no_views":"padding by elements is no view of fixed strides"

== a long chain is shown in part
$ chain='f32[2,3]'; for i in 1 2 3 4 5 6 7 8 9 10; do chain="$chain.permute(1,0).flip(0).pad((1,0),(0,1))"; done
> viewfold show "$chain" | grep -oE '"left_out":[1-9][0-9]*|"views":' | sort | uniq -c | sed 's/^ *//'
[..] "left_out":[..]
16 "views":

== values have the names that they have in the listing
<<< names.vf
graph @names(%a: f32[2,3]) {
  %e = exp %a
  %"the = result" = reshape %e shape=[6]
  %g = flip %"the = result" axes=[0]
  return %"the = result", %g
}
>>>
$ viewfold show names.vf | grep -oE '"name":"([^"\\]|\\.)*","operation":"([^"\\]|\\.)*"'
"name":"%0","operation":"exp %a"
"name":"%\"the = result\"","operation":"reshape %0 shape=[6]"
"name":"%g","operation":"flip %\"the = result\" axes=[0]"

== names cannot leave the data
<<< hostile.vf
graph @"</script><script>alert(1)</script><!--"(%"</script>\"'\xff": f32[2,3]) {
  %"<b>" = permute %"</script>\"'\xff" order=[1,0]
  return %"<b>"
}
>>>
$ cp hostile.vf '<img src=x>&".vf'
$ viewfold show '<img src=x>&".vf' -o page.html
$ grep -oiE '</?(script|b|img)\b|<!--' page.html | sort | uniq -c | sed 's/^ *//'
2 </script
2 <script
$ grep '<title>' page.html
<title>&lt;img src=x&gt;&amp;&quot;.vf · viewfold</title>

== a page that cannot be written is an error
$ viewfold show 'f32[2]' -o nowhere/page.html
! nowhere/page.html: error: [..]
? 2
$ viewfold show 'f32[2]' > /dev/full
! viewfold: writing to standard output: No space left on device
? 2

== a wrong chain leaves the file as it is
$ echo kept > page.html
$ viewfold show 'f32[2].permute(1)' -o page.html
! <chain>:1:8: error: permute: [..]
? 2
$ cat page.html
kept

== usage
$ viewfold show
! viewfold show: no file given; for example: viewfold show 'f32[3,2].permute(1,0)' -o page.html
! Try 'viewfold show --help'.
? 2
$ viewfold show a.vf b.vf
! viewfold show: one file at a time, found 'b.vf' as well
! Try 'viewfold show --help'.
? 2
$ viewfold show none.vf
! none.vf: error: [..]
? 2
$ viewfold show rows.vf --graph sums
! viewfold show: rows.vf holds no graph @sums; it holds @rows, @other
! Try 'viewfold show --help'.
? 2
$ viewfold show rows.vf -o
! viewfold show: option -o needs a value: a file to write
! Try 'viewfold show --help'.
? 2
$ viewfold show --help | head -1
Usage: viewfold show [-o PAGE.html] [--graph NAME] FILE.vf|CHAIN

== without the compiler's module the page is still written, and says so
$ cp "$(command -v viewfold)" alone
$ ./alone show 'f32[3,2].permute(1,0)' -o page.html
! viewfold show: [..]viewfold-llvm.so[..]
? 3
$ grep -oE '"error":"[^"]*viewfold-llvm.so' page.html | wc -l
2
$ grep -oE '"name":"loops"' page.html
"name":"loops"
