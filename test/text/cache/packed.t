# Entries of the kind `packed`: what is computed from constants alone, mapped by all processes.
<<< weights.vf
graph @weights() {
  %i = arange start=0 stop=262144 step=1 dtype=f32
  %m = mod %i, 9.0
  %s = sub %m, 4.0
  %w = reshape %s shape=[256,1024]
  return %w
}
>>>
<<< product.vf
graph @product(%x: f32[4,256]) {
  %w = data file="w.npy" : f32[256,1024]
  %a = abs %w
  %y = matmul %x, %a
  return %y
}
>>>
<<< x.vf
graph @x() {
  %i = arange start=0 stop=1024 step=1 dtype=f32
  %m = mod %i, 7.0
  %x = reshape %m shape=[4,256]
  return %x
}
>>>
<<< make.sh
viewfold run weights.vf --out w=w.npy > out
viewfold run x.vf --out x=x.npy > out
>>>
<<< run.sh
viewfold run product.vf --in x=x.npy --out y=y.npy --check
>>>

== one process computes it, others map it
$ sh make.sh
$ sh run.sh
check y: [..]
$ viewfold cache stat | grep packed
packed    1 entry, 1049[..] bytes
$ ls -i .cache/*/*.packed > before
$ sh run.sh > again
$ ls -i .cache/*/*.packed | cmp - before

== an entry that is damaged, or has become shorter
$ sh make.sh
$ sh run.sh > before
$ mv y.npy right.npy
$ f=$(echo .cache/*/*.packed); printf x | dd of=$f bs=1 seek=500000 conv=notrunc 2> /dev/null
$ viewfold cache verify
[..].packed: the payload does not match its digest
[..] entries checked, 1 damaged
? 1
$ sh run.sh | cmp - before
$ cmp y.npy right.npy
$ truncate -s 5000 .cache/*/*.packed
$ VIEWFOLD_DEBUG=cache sh run.sh > out
! viewfold: cache: [..].packed is not used: shorter than it says
$ cmp y.npy right.npy
$ rm .cache/*/*.packed
$ sh run.sh | cmp - before
$ cmp y.npy right.npy
$ viewfold cache verify
[..] entries checked, 0 damaged

== other weights under the same name
$ sh make.sh
$ sh run.sh > before
$ sed 's/4[.]0/5.0/' weights.vf > others.vf
$ viewfold run others.vf --out w=other.npy > out
$ touch -r w.npy other.npy
$ mv other.npy w.npy
$ sh run.sh
check y: [..]
$ viewfold cache stat | grep packed
packed    2 entries, [..] bytes

== many processes at once
$ sh make.sh
$ for i in 1 2 3 4 5 6 7 8; do viewfold run product.vf --in x=x.npy --out y=y$i.npy > out$i & done; wait
$ sh run.sh > out
$ for i in 1 2 3 4 5 6 7 8; do cmp y.npy y$i.npy; done
$ viewfold cache stat | grep packed
packed    1 entry, [..] bytes
$ viewfold cache verify
[..] entries checked, 0 damaged

== no room in the cache, no place for it, no cache
$ sh make.sh
$ mkdir none; chmod 777 none
$ VIEWFOLD_CACHE_DIR=none sh run.sh
check y: [..]
! viewfold: cache: none is not used: others may write to it (mode 0777); chmod go-w it
$ VIEWFOLD_CACHE_DIR=x.npy/cache sh run.sh
check y: [..]
! viewfold: cache: x.npy/cache is not used: Not a directory; name a directory that can be made and written in VIEWFOLD_CACHE_DIR
# Less than twice what it would store.
$ VIEWFOLD_CACHE_BYTES=2097151 viewfold run product.vf --in x=x.npy
y: f32[4,1024] [..]
$ VIEWFOLD_CACHE_DIR=other VIEWFOLD_CACHE_BYTES=4M viewfold run product.vf --in x=x.npy
y: f32[4,1024] [..]
$ ls other/*/*.packed | wc -l
1
# A write fails in the middle.
$ (trap '' XFSZ; ulimit -f 1000; viewfold run product.vf --in x=x.npy)
y: f32[4,1024] [..]
$ ls .cache/*/*.packed 2> /dev/null
? 2
$ ls -A .cache/* | grep -c tmp
0
? 1
