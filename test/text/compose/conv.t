# Convolutions and pooling. Values by hand.
<<< conv.vf
graph @conv(%x: i32[1,1,5], %w: i32[1,1,3], %b: i32[1]) {
  %plain = conv %x, %w
  %bias = conv %x, %w, %b
  %stride = conv %x, %w stride=2
  %padding = conv %x, %w padding=1
  %uneven = conv %x, %w padding=[[2,0]]
  %dilation = conv %x, %w dilation=2
  return %plain, %bias, %stride, %padding, %uneven, %dilation
}
>>>

== along one axis; the weight is not flipped
$ viewfold run conv.vf --in x=[[[1,2,3,4,5]]] --in w=[[[1,10,100]]] --in b=[7]
plain: i32[1,1,3] = [[[321, 432, 543]]]
bias: i32[1,1,3] = [[[328, 439, 550]]]
stride: i32[1,1,2] = [[[321, 543]]]
padding: i32[1,1,5] = [[[210, 321, 432, 543, 54]]]
uneven: i32[1,1,5] = [[[100, 210, 321, 432, 543]]]
dilation: i32[1,1,1] = [[[531]]]

== channels and groups, along two axes
<<< groups.vf
graph @groups(%x: i32[1,2,2,2], %w: i32[2,2,1,2], %g: i32[4,1,2,1]) {
  %all = conv %x, %w
  %two = conv %x, %g groups=2
  return %all, %two
}
>>>
$ viewfold run groups.vf --in x=[[[[1,2],[3,4]],[[5,6],[7,8]]]] --in w=[[[[1,0]],[[0,1]]],[[[1,1]],[[10,0]]]] --in g=[[[[1],[0]]],[[[0],[1]]],[[[1],[1]]],[[[2],[-1]]]]
all: i32[1,2,2,1] = [[[[7], [11]], [[53], [77]]]]
two: i32[1,4,1,2] = [[[[1, 2]], [[3, 4]], [[12, 14]], [[3, 4]]]]

== along three axes, with a symbolic size
<<< deep.vf
graph @deep(%x: f32[1,1,n=2..6,2,2], %w: f32[1,1,2,2,2]) {
  %y = conv %x, %w
  return %y
}
>>>
$ viewfold run deep.vf --in x=[[[[[1,2],[3,4]],[[5,6],[7,8]],[[1,1],[1,1]]]]] --in w=[[[[[1,1],[1,1]],[[1,1],[1,-1]]]]]
y: f32[1,1,2,1,1] = [[[[[20.0]], [[28.0]]]]]

== where larger errors are allowed, a convolution is computed in fewer multiplications: three transforms make parts of it
<<< relaxed.vf
graph @conv(%x: f32[1,64,8,8], %w: f32[48,64,3,3]) {
  %y = conv %x, %w padding=1 precision=relaxed
  return %y
}
>>>
$ viewfold dump --stage=graph relaxed.vf | grep -c stack
3
$ sed s/relaxed/exact/ relaxed.vf > exact.vf && VIEWFOLD_PRECISION=relaxed viewfold dump --stage=graph exact.vf | grep stack
? 1
$ sed 's/ precision=relaxed//' relaxed.vf > open.vf && VIEWFOLD_PRECISION=relaxed viewfold dump --stage=graph open.vf | grep -c stack
3
$ viewfold dump --stage=graph open.vf | grep stack
? 1
$ sed s/f32/bf16/g relaxed.vf > bf16.vf && viewfold dump --stage=graph bf16.vf | grep -c stack
3
$ VIEWFOLD_PRECISION=relaxed viewfold dump --stage=graph bf16.vf | grep stack
? 1
$ sed s/relaxed/fast/ relaxed.vf > fast.vf && viewfold dump --stage=graph fast.vf
! fast.vf:2:3: error: conv: attribute precision is fast; it is one of exact relaxed
? 2
$ VIEWFOLD_PRECISION=fast viewfold dump --stage=graph open.vf
! viewfold dump: VIEWFOLD_PRECISION is 'fast'; it must be exact or relaxed
? 2

== windows are views: no masks or divisions remain
<<< folds.vf
graph @folds(%x: f32[1,1,30], %w: f32[1,1,3]) {
  %y = conv %x, %w stride=3 dilation=2
  return %y
}
>>>
$ viewfold dump --stage=index folds.vf
index @folds_0(p0: f32[9], p2: f32[30], p1: f32[3]) {
  range ridx2 in 0..9
  range ridx3 in 0..3
  %0 = load p2[((ridx2*3)+(ridx3*2))] : f32
  %1 = load p1[ridx3] : f32
  %2 = mul %0, %1 : f32
  %3 = reduce add %2 over ridx3 : f32
  store p0[ridx2] = %3
}

== what would be multiplied by padding alone is left out
<<< wide.vf
graph @wide(%x: i32[1,1,3], %w: i32[1,1,3], %v: i32[1,1,4]) {
  %middle = conv %x, %w padding=4 dilation=4
  %later = conv %x, %v padding=[[5,0]] dilation=2
  %never = conv %x, %w padding=[[9,0]] dilation=1 stride=9
  return %middle, %later, %never
}
>>>
$ viewfold run wide.vf --in x=[[[1,2,3]]] --in w=[[[1,10,100]]] --in v=[[[1000,1,10,100]]]
middle: i32[1,1,3] = [[[10, 20, 30]]]
later: i32[1,1,2] = [[[200, 310]]]
never: i32[1,1,2] = [[[0, 321]]]
$ viewfold dump --stage=index wide.vf | grep -c reduce
2

== windows that mostly see padding are a sum of products, one for each element of the weight
<<< taps.vf
graph @taps() {
  %all = arange stop=1179648 dtype=i32
  %first = shrink %all bounds=[[0,73728]]
  %x = reshape %first shape=[2,512,9,8]
  %w = reshape %all shape=[256,512,3,3]
  %last = shrink %all bounds=[[393216,1179648]]
  %u = reshape %last shape=[256,512,3,2]
  %near = conv %x, %w padding=6 dilation=6
  %padded = pad %x pads=[[0,0],[0,0],[6,6],[6,6]]
  %same = conv %padded, %w dilation=6
  %uneven = conv %x, %u padding=[[7,2],[3,6]] dilation=[4,7] stride=[2,1]
  %around = pad %x pads=[[0,0],[0,0],[7,2],[3,6]]
  %also = conv %around, %u dilation=[4,7] stride=[2,1]
  %line = reshape %first shape=[2,256,144]
  %few = shrink %all bounds=[[0,589824]]
  %v = reshape %few shape=[512,128,9]
  %parted = conv %line, %v padding=120 dilation=30 groups=2
  %long = pad %line pads=[[0,0],[0,0],[120,120]]
  %besides = conv %long, %v dilation=30 groups=2
  %a = eq %near, %same
  %b = eq %uneven, %also
  %c = eq %parted, %besides
  %whole = all %a axes=[0,1,2,3]
  %strided = all %b axes=[0,1,2,3]
  %grouped = all %c axes=[0,1,2]
  return %whole, %strided, %grouped
}
>>>
$ viewfold run taps.vf
whole: bool[] = true
strided: bool[] = true
grouped: bool[] = true
$ viewfold dump --stage=index taps.vf | grep -c 'reduce add'
27

== transposed convolutions: each element adds a multiple of the weight to the result
<<< transposed.vf
graph @transposed(%x: i32[1,1,3], %w: i32[1,1,2], %p: i32[1,2,2], %q: i32[2,1,2], %b: i32[2]) {
  %plain = conv_transpose %x, %w
  %stride = conv_transpose %x, %w stride=3
  %more = conv_transpose %x, %w stride=3 output_padding=1
  %padding = conv_transpose %x, %w stride=3 padding=1
  %dilation = conv_transpose %x, %w dilation=2
  %groups = conv_transpose %p, %q, %b groups=2
  return %plain, %stride, %more, %padding, %dilation, %groups
}
>>>
$ viewfold run transposed.vf --in x=[[[1,2,3]]] --in w=[[[1,10]]] --in p=[[[1,2],[3,4]]] --in q=[[[1,10]],[[1,-1]]] --in b=[0,100]
plain: i32[1,1,4] = [[[1, 12, 23, 30]]]
stride: i32[1,1,8] = [[[1, 10, 0, 2, 20, 0, 3, 30]]]
more: i32[1,1,9] = [[[1, 10, 0, 2, 20, 0, 3, 30, 0]]]
padding: i32[1,1,6] = [[[10, 0, 2, 20, 0, 3]]]
dilation: i32[1,1,5] = [[[1, 2, 13, 20, 30]]]
groups: i32[1,2,3] = [[[1, 12, 20], [103, 101, 96]]]

== phases that padding shifts are convolutions of their own, of as many positions as they have, where there is much to multiply; with the same results
<<< phases.vf
graph @phases() {
  %i = iota shape=[1,48,4,3] axis=3 dtype=i32
  %j = iota shape=[1,48,4,3] axis=1 dtype=i32
  %k = iota shape=[1,48,4,3] axis=2 dtype=i32
  %l = mul %i, %j
  %m = mul %k, %k
  %x = add %l, %m
  %a = iota shape=[48,3,5,4] axis=3 dtype=i32
  %b = iota shape=[48,3,5,4] axis=2 dtype=i32
  %c = iota shape=[48,3,5,4] axis=0 dtype=i32
  %d = mul %a, %b
  %e = mul %d, %c
  %w = sub %e, %b
  %whole = conv_transpose %x, %w stride=[3,2]
  %one = shrink %whole bounds=[[0,1],[0,3],[1,13],[1,7]]
  %y = conv_transpose %x, %w stride=[3,2] padding=[[1,1],[1,1]]
  %z = eq %y, %one
  %same = all %z axes=[0,1,2,3]
  return %same
}
>>>
$ viewfold run phases.vf
same: bool[] = true
$ viewfold dump --stage=graph phases.vf | grep -c ' sum '
8

== pooling
<<< pool.vf
graph @pool(%x: f32[2,6], %i: i8[4], %t: i32[2,4]) {
  %m = max_pool %x kernel=[3]
  %p = max_pool %x kernel=[3] stride=[2] padding=[1]
  %d = max_pool %x kernel=[2] stride=[1] dilation=[4]
  %a = avg_pool %x kernel=[2]
  %c = avg_pool %x kernel=[2] stride=[3] padding=[1]
  %e = avg_pool %x kernel=[2] stride=[3] padding=[1] count_pads=false
  %n = max_pool %i kernel=[2] stride=[1] padding=[1]
  %s = avg_pool %t kernel=[2,2]
  return %m, %p, %d, %a, %c, %e, %n, %s
}
>>>
$ viewfold run pool.vf --in x=[[1,5,2,-8,-9,-7],[nan,0,0,-inf,-inf,-inf]] --in i=[-128,-5,-6,3] --in t=[[1,2,3,4],[5,6,7,9]]
m: f32[2,2] = [[5.0, -7.0], [nan, -inf]]
p: f32[2,3] = [[5.0, 5.0, -7.0], [nan, 0.0, -inf]]
d: f32[2,2] = [[1.0, 5.0], [nan, 0.0]]
a: f32[2,3] = [[3.0, -3.0, -8.0], [nan, -inf, -inf]]
c: f32[2,3] = [[0.5, -3.0, -3.5], [nan, -inf, -inf]]
e: f32[2,3] = [[1.0, -3.0, -7.0], [nan, -inf, -inf]]
n: i8[5] = [-128, -5, -5, 3, 3]
s: f32[1,2] = [[3.5, 5.75]]
