# When a cache is trusted: where another user could have written, nothing is read, stored or removed.

== a directory that other users may write to
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] > before
$ chmod 0777 .cache
$ VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] > out 2> said; echo $?
3
$ VIEWFOLD_DEBUG=cache viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
y: f32[4] = [4.0, 3.0, 2.0, 1.0]
! viewfold: cache: [..]/.cache is not used: others may write to it (mode 0777); chmod go-w it
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] | cmp - before
! viewfold: cache: [..]/.cache is not used: others may write to it (mode 0777); chmod go-w it
$ viewfold cache stat
! viewfold cache: '[..]/.cache' is not used: others may write to it (mode 0777); chmod go-w it
? 2
$ chmod 0755 .cache
$ VIEWFOLD_DEBUG=cache VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] | cmp - before

== nothing is stored there
$ mkdir .cache; chmod 0770 .cache
$ VIEWFOLD_DEBUG=cache viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
y: f32[4] = [4.0, 3.0, 2.0, 1.0]
! viewfold: cache: [..]/.cache is not used: its group may write to it (mode 0770), even if that is the user's own; chmod go-w it
$ find .cache -type f

== a shard and an entry that other users may write to
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] > before
$ chmod 0777 .cache/*
$ VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] > out 2> said; echo $?
3
$ VIEWFOLD_DEBUG=cache VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] 2>&1 | grep -q '/.cache/.. is not used: others may write to it'
$ test "$(viewfold cache stat | grep -c 'others may write to it (mode 0777); chmod go-w it')" = "$(ls .cache | grep -cx '[0-9a-f][0-9a-f]')" # two, or one that has both
$ chmod 0700 .cache/*; chmod 0620 .cache/*/*
$ VIEWFOLD_DEBUG=cache VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] 2>&1 | grep -c '.plan is not used: its group may write to it (mode 0620)'
1
$ viewfold cache stat | tail -n 1
ignored   2 files; `viewfold cache verify` says why
$ viewfold cache verify | grep -c 'its group may write to it'
2
$ chmod 0600 .cache/*/*
$ VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] | cmp - before

== a link in the path
$ mkdir real; ln -s real up; ln -s real/c own
$ VIEWFOLD_CACHE_DIR=up/c viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] > before
$ VIEWFOLD_CACHE_DIR=real/c VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] | cmp - before
$ VIEWFOLD_CACHE_DIR=own VIEWFOLD_DEBUG=cache VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
! viewfold: cache: own is not used: is a symbolic link; name the directory that it leads to
! viewfold run: VIEWFOLD_COMPILE=0: [..]
? 3

== a directory, a shard, an entry and a link of another user
@needs test "$(id -u)" = 0
$ viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] > before
$ chown 12345 .cache
$ VIEWFOLD_DEBUG=cache VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
! viewfold: cache: [..]/.cache is not used: belongs to user 12345; it must belong to user 0, who runs this, or to root
! viewfold run: VIEWFOLD_COMPILE=0: [..]
? 3
$ viewfold cache prune
! viewfold cache: [..] belongs to user 12345; it must belong to user 0, who runs this, or to root
? 2
$ chown 0 .cache; chown 12345 .cache/*
$ VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] > out 2> said; echo $?
3
$ chown 0 .cache/*; chown 12345 .cache/*/*
$ VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] > out 2> said; echo $?
3
$ chown 0 .cache/*/*; ln -s . up; chown -h 12345 up
$ VIEWFOLD_CACHE_DIR=up/.cache VIEWFOLD_DEBUG=cache VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4]
! viewfold: cache: up is not used: is a symbolic link that belongs to user 12345; [..]
! viewfold run: VIEWFOLD_COMPILE=0: [..]
? 3
$ VIEWFOLD_COMPILE=0 viewfold run 'f32[4].flip(0)' --in x=[1,2,3,4] | cmp - before
