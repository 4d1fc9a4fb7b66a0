# Loops that never run, as where rows of a transposed array end within rows of the result.

== an extent that is below 0 in every part of the rows
<<< parts.vf
graph @parts(%x: u64[301,177]) {
  %flipped = flip %x axes=[1]
  %transposed = permute %flipped order=[1,0]
  %rows = reshape %transposed shape=[301,177]
  %part = shrink %rows bounds=[[33,274],[44,101]]
  %every = stride %part steps=[1,2]
  %y = permute %every order=[1,0]
  return %y
}
>>>
$ viewfold check parts.vf
check y: 6989 elements, bit-equal
