# The commands of README.md print what it shows.

== the commands of the README
$ sed -n '/^\$ cat rows.vf/,/^\$ viewfold/p' "$TEST_ROOT/README.md" | sed '1d;$d' > rows.vf
$ viewfold index 'f32[3,2].permute(1,0).reshape(3,2).pad((1,0),(0,0))' > said
$ viewfold run rows.vf --in 'x=[[0,1,2],[10,11,12],[20,21,22],[30,31,32]]' --check >> said
$ viewfold dump --stage=index rows.vf >> said
$ while IFS= read -r line; do grep -qxF -e "$line" "$TEST_ROOT/README.md" || echo "not in README.md: $line"; done < said
