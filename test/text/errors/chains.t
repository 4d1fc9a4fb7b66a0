# Invalid chain expressions, given to the commands that accept them.

== not a chain
$ viewfold index 'f32'
! <chain>:1:4: error: missing shape, found the end of the text, expected '[', as in f32[2,3], or f32[] for one number
? 2

== an order of another length
$ viewfold index 'f32[3,2].permute(0)'
! <chain>:1:10: error: permute: order [0] has 1 entry; x has shape f32[3,2]; an order lists each of its 2 axes exactly once
? 2

== another number of elements
$ viewfold index 'f32[3,2].reshape(4)'
! <chain>:1:10: error: reshape: shape [4] has 4 elements; x has shape f32[3,2], 6 elements; a reshape keeps their number
? 2

== an unknown view
$ viewfold dump --stage=index 'f32[3,2].transpoze(0,1)'
! <chain>:1:10: error: unknown view, found 'transpoze'; did you mean transpose?
? 2

== too many values
$ viewfold dump --stage=loops 'f32[3,2].unsqueeze(0,1)'
! <chain>:1:22: error: too many values, found '1', expected ')': unsqueeze takes axis
? 2

== a window that ends before it begins
$ viewfold run 'f32[3,2].shrink((2,1),(0,2))' --in 'x=[[1,2],[3,4],[5,6]]'
! <chain>:1:10: error: shrink: bounds [2,1] do not fit axis 0; x has shape f32[3,2]; takes 0 <= begin <= end <= 3
? 2

== an index out of range
$ viewfold index 'f32[4].gather(0,[0,4])'
! <chain>:1:8: error: gather: index 4 is out of range of axis 0; x has shape f32[4]; an index lies in -size .. size-1
? 2

== parentheses that do not close
$ viewfold index 'f32[4].flip(0'
! <chain>:1:14: error: bad values of a step, found the end of the text, expected ',' or ')'
? 2

== an order of all axes where two are exchanged
$ viewfold index 'f32[3,2,4].transpose(2,0,1)'
! <chain>:1:26: error: too many values, found '1', expected ')': transpose takes axis1 and axis2; an order of all axes is permute(2,0,1)
? 2
