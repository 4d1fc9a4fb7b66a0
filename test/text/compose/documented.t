# Every composition has an entry in the manual.

== docs/ir.md
$ sed -n 's/^NAME("\([a-z_]*\)", [a-z_]*, ERROR.*/\1/p' "$TEST_ROOT/passes/ops/names.def" | while read -r name; do
>   grep -q "\*\*$name\*\*" "$TEST_ROOT/docs/ir.md" || echo "$name is not there"
> done
