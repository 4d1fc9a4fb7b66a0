# `viewfold cache prune` and a cache that prunes itself: what is removed, and what never is.

== only entries are removed, and the command reports which
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] > out
$ # folders have names of digests, any of which may be that of a folder below
> mkdir run; mv .cache/??/* run; rmdir .cache/??; mv run .cache/ef
$ cp "$(ls .cache/*/*.plan)" entry; umask 022; mkdir .cache/ab outside; cp entry outside/0123456789abcdef0123456789abcd.plan
> n=0123456789abcdef0123456789abcd; cd .cache/ab
> for f in notes.txt main.c $n.code $n.txt 1$n.code $n.code.bak .left-behind .12-3-4 .viewfold-1-2-3.tmp; do echo "my work" > $f; done
> cp ../../entry ABCDEF6789abcdef0123456789abcd.plan; cd ..; ln -s ../outside cd; cd ..
> find . -exec touch -h -d '3 hours ago' {} +; find .cache/ab outside -type f | sort > before
$ viewfold cache prune --max 0 | sed 's/[0-9]* bytes;/N bytes;/'
[..]/.cache/cd: is a symbolic link; nothing is read or removed behind it
removed 2 entries, N bytes; 0 entries, 0 bytes are left
$ find .cache/ab outside -type f | sort | diff before -
$ grep -Lx 'my work' .cache/ab/* .cache/ab/.[0-9a-z]*
.cache/ab/ABCDEF6789abcdef0123456789abcd.plan

== a cache directory that is a link is neither used nor pruned
$ umask 022; mkdir -p real/ab; for f in real/ab/notes real/ab/0123456789abcdef0123456789abcd.code; do echo mine > $f; touch -d '3 hours ago' $f; done; ln -s real link
$ VIEWFOLD_CACHE_DIR=link viewfold cache prune --max 0
! viewfold cache: 'link' is not used: is a symbolic link; name the directory that it leads to
? 2
$ VIEWFOLD_CACHE_DIR=link viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
y: f32[4] = [4.0, 3.0, 2.0, 1.0]
! viewfold: cache: link is not used: is a symbolic link; name the directory that it leads to
$ find real -type f | sort
real/ab/0123456789abcdef0123456789abcd.code
real/ab/notes

== a file of another kind under an entry's name is reported by stat and verify, and stays
$ umask 022; mkdir -p .cache/ab; echo mine > .cache/ab/0123456789abcdef0123456789abcd.code; touch -d '3 hours ago' .cache/ab/*
$ viewfold cache stat
directory [..]/.cache
total     0 entries, 0 bytes
ignored   1 file; `viewfold cache verify` says why
$ viewfold cache verify
[..]/.cache/ab/0123456789abcdef0123456789abcd.code: shorter than its header
1 entry checked, 1 damaged
? 1
$ viewfold cache prune --max 0
removed 0 entries, 0 bytes; 0 entries, 0 bytes are left
$ cat .cache/ab/*
mine

== temporary files of killed processes are counted and removed
$ umask 022; mkdir -p .cache/ab; printf vfcache1 > .cache/ab/.viewfold-7ffffff0-0-1.tmp; : > .cache/ab/.viewfold-7ffffff0-1-1.tmp; touch -d '2 minutes ago' .cache/ab/.v*
> printf 'vfcache1 12345' > .cache/ab/.viewfold-7ffffff0-2-1.tmp
$ viewfold cache stat
directory [..]/.cache
temporary 3 files, 22 bytes
total     0 entries, 22 bytes
$ viewfold cache prune
removed 0 entries, 0 bytes, and 2 temporary files, 8 bytes; 0 entries, 14 bytes are left
$ ls -A .cache/ab
.viewfold-7ffffff0-2-1.tmp
