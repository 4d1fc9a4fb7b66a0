# `viewfold show`: the page as text.
<<< layers.py
import sys
layers, size = int(sys.argv[1]), 16
print(f"graph @net(%x0: f32[8,{size}], %mask: f32[8,8]" + "".join(f", %{w}{i}: f32[{size},{size}]" for i in range(layers) for w in "qkvou") + ") {")
for i in range(layers):
    print(f"""  %n{i} = layer_norm %x{i} axis=1
  %a{i} = matmul %n{i}, %q{i}
  %b{i} = matmul %n{i}, %k{i}
  %c{i} = matmul %n{i}, %v{i}
  %d{i} = permute %b{i} order=[1,0]
  %e{i} = matmul %a{i}, %d{i}
  %m{i} = exp %mask
  %f{i} = add %e{i}, %m{i}
  %g{i} = softmax %f{i} axis=1
  %h{i} = matmul %g{i}, %c{i}
  %i{i} = matmul %h{i}, %o{i}
  %r{i} = add %x{i}, %i{i}
  %s{i} = matmul %r{i}, %u{i}
  %t{i} = relu %s{i}
  %x{i + 1} = add %r{i}, %t{i}""")
print(f"  return %x{layers}\n}}")
>>>
<<< sizes.py
import base64, json, re, sys, zlib
page = open(sys.argv[1]).read()
graph = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))["graphs"][0]
texts = json.loads(zlib.decompress(base64.b64decode(graph["texts"])))
assert {k[0] for k in graph["kernels"]} == set(range(len(texts)))
below = -(-len(page) // 100000) * 100
print(f"{len(graph['kernels'])} kernels, {len(texts)} functions; the code is compressed, the page is below {below} kB")
>>>
<<< parts.py
import collections, json, re, sys
page = open(sys.argv[1]).read()
graph = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))["graphs"][0]
block = graph["blocks"][-1]
parts, order = block["parts"], block["order"]
assert sorted(order) == [i for i, n in enumerate(graph["nodes"]) if not n[4]]
place = {line: i for i, line in enumerate(order)}
assert all(place[u] < place[line] for line in order for u in graph["nodes"][line][5] if u in place)
for around, first, end, _ in parts: assert around < 0 or parts[around][1] <= first < end <= parts[around][2]
shown = collections.Counter(p[0] for p in parts)
for i in [-1, *range(len(parts))]:
    inside = [p for p in parts if p[0] == i]
    whole = (parts[i][2] - parts[i][1] if i >= 0 else len(order)) - sum(p[2] - p[1] for p in inside) + len(inside)
    assert whole <= 60, (i, whole)
classes = collections.Counter(p[3] for p in parts)
for number, times in sorted(classes.items(), reverse=True):
    words = {" ".join(graph["words"][graph["nodes"][order[k]][1]] for k in range(p[1], p[2])) for p in parts if p[3] == number}
    if number < 0: print(times, "pieces")
    else: print(f"{times} parts of class {number}, of {len(words.pop().split())} operations"), words and print("not alike")
>>>
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

== the listing and the kernels are the same as those of dump
<<< stages.py
import base64, json, re, subprocess, sys, zlib
page = open(sys.argv[1]).read()
data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))
def dump(stage):
    return subprocess.run(["viewfold", "dump", "--stage=" + stage, sys.argv[2]], check=True, capture_output=True, text=True).stdout
print(" ".join(name for name, _ in data["stages"]))
for graph in data["graphs"]:
    texts = graph["texts"]
    if isinstance(texts, str): texts = json.loads(zlib.decompress(base64.b64decode(texts)))
    print("graph", dump("graph") == graph["listing"], "kernels", dump("kernels") == graph["kernel_listing"])
    for at, (stage, _) in enumerate(data["stages"][2:], 1):
        print(stage, dump(stage) == "\n".join(texts[k[0]][at] for k in graph["kernels"]))
>>>
$ viewfold show rows.vf --graph rows -o page.html
$ grep -c '"name":"other"' page.html
0
? 1
$ sed '/@other/,$d' rows.vf > one.vf
$ viewfold show one.vf -o page.html && python3 -B stages.py page.html one.vf
graph kernels index loops llvm asm
graph True kernels True
index True
loops True
llvm True
asm True

== kernels that are one function have their code once, and long texts are compressed
$ python3 -B layers.py 12 > layers.vf
$ viewfold show layers.vf -o page.html
$ python3 -B sizes.py page.html
169 kernels, 13 functions; the code is compressed, the page is below 400 kB

== layers are found, and joined as the graph is
$ python3 -B layers.py 12 > layers.vf
$ viewfold show layers.vf -o page.html
$ python3 -B parts.py page.html
12 parts of class 0, of 28 operations
$ python3 -B layers.py 300 > layers.vf
$ viewfold show layers.vf -o page.html
$ python3 -B parts.py page.html
300 parts of class 0, of 28 operations
11 pieces

== a function that is called is a block of its own
<<< loop.vf
graph @step(%h: f32[3], %x: f32[3]) {
  %s = add %h, %x
  %t = tanh %s
  return %t, %t
}
graph @loop(%h: f32[3], %xs: f32[5,3]) {
  %last, %all = scan %h, %xs do=@step carries=1
  return %last, %all
}
>>>
$ viewfold show loop.vf | python3 -B -c '
> import json, re, sys
> graph = json.loads(re.search(r"id=.data.>(.*?)</script>", sys.stdin.read(), re.S).group(1))["graphs"][0]
> for name, word, row, kind, leaf, operands, called in graph["nodes"]: print(name, graph["words"][word], graph["types"][kind], operands, called)
> print([[b["first"], b["end"], b["order"]] for b in graph["blocks"]])'
%a0 buffer f32[3] [] []
%a1 buffer f32[3] [] []
%0 add f32[3] [0, 1] []
%1 tanh f32[3] [2] []
%h input f32[3] [] []
%xs input f32[5,3] [] []
%last, %all scan f32[3], f32[5,3] [4, 5] [0]
[[0, 4, [2, 3]], [4, 7, [6]]]

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
3 </script
3 <script
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

== times of a profile, of the graph that it names
$ echo '{"graph":"rows","kernels":[{"kernel":0,"ns":1250,"share":1},{"kernel":7,"ns":3}]}' > times.json
$ viewfold show rows.vf --profile times.json | grep -oE '"times":[{][^}]*[}]|"name":"(rows|other)"'
"name":"rows"
"times":{"0":1250.0}
"name":"other"

== what is no profile is refused
$ echo '{"kernels":[{"kernel":0}]}' > times.json
$ viewfold show rows.vf --profile times.json -o page.html
! viewfold show: times.json: no profile: a kernel has no time "ns"; `viewfold run --profile=json FILE.vf > PROFILE` writes one
? 2
$ echo '[' > times.json
$ viewfold show rows.vf --profile times.json -o page.html
! viewfold show: times.json: no profile: line 2: [..]
? 2
$ test -e page.html
? 1

== usage
$ viewfold show
! viewfold show: no file given; for example: viewfold show 'f32[3,2].permute(1,0)' -o page.html
! Try 'viewfold show --help'.
? 2
$ viewfold show a.vf b.vf
! viewfold show: one file at a time, found 'b.vf' as well; -o names the page to write
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
Usage: viewfold show [-o PAGE.html] [--graph NAME] [--target SETTINGS] [--profile FILE] FILE.vf|CHAIN

== code for another machine
$ viewfold show 'f32[3,2].permute(1,0)' --target aarch64 | grep -o 'target triple = ..[a-z0-9]*'
target triple = \"aarch64
$ viewfold show 'f32[3,2].permute(1,0)' --target arm
! viewfold show: target: 'arm' is not a setting; use name=value with a name among [..]
? 2

== without the compiler's module the page is still written, and says so
$ cp "$(command -v viewfold)" alone
$ ./alone show 'f32[3,2].permute(1,0)' -o page.html
! viewfold show: [..]viewfold-llvm.so[..]
? 3
$ grep -oE '"code_error":"[^"]*viewfold-llvm.so' page.html | wc -l
1
$ grep -oE 'kernel @chain_0[(]' page.html
kernel @chain_0(
