# Writes whose source overlaps their target: the loops go the way that reads each element before it is replaced.
<<< shifts.vf
graph @right(%a: ref f32[4097]) {
  %p = address %a
  %t = shrink %p bounds=[[1,4097]]
  %v = shrink %a bounds=[[0,4096]]
  %a = assign %a, %t, %v
  return
}
graph @left(%a: ref f32[4097]) {
  %p = address %a
  %t = shrink %p bounds=[[0,4096]]
  %v = shrink %a bounds=[[1,4097]]
  %a = assign %a, %t, %v
  return
}
graph @sums(%a: ref f32[7]) {
  %p = address %a
  %t = shrink %p bounds=[[1,7]]
  %v = shrink %a bounds=[[0,6]]
  %a = assign %a, %t, %v op=add
  return
}
graph @rows(%a: ref f32[65,67]) {
  %p = address %a
  %t = shrink %p bounds=[[1,65],[0,67]]
  %v = shrink %a bounds=[[0,64],[0,67]]
  %a = assign %a, %t, %v
  return
}
graph @columns(%a: ref f32[65,67]) {
  %p = address %a
  %t = shrink %p bounds=[[0,65],[1,67]]
  %v = shrink %a bounds=[[0,65],[0,66]]
  %a = assign %a, %t, %v
  return
}
graph @block(%a: ref f32[65,67]) {
  %p = address %a
  %t = shrink %p bounds=[[1,65],[0,66]]
  %v = shrink %a bounds=[[0,64],[1,67]]
  %a = assign %a, %t, %v
  return
}
graph @large(%a: ref f32[4096,4096]) {
  %p = address %a
  %t = shrink %p bounds=[[0,4094],[3,4096]]
  %v = shrink %a bounds=[[2,4096],[0,4093]]
  %a = assign %a, %t, %v
  return
}
graph @first(%a: ref f32[65,67]) {
  %p = address %a
  %v = shrink %a bounds=[[0,1],[0,67]]
  %a = assign %a, %p, %v op=sub
  return
}
graph @spread(%a: ref f32[65]) {
  %p = address %a
  %t = stride %p steps=[2]
  %v = shrink %a bounds=[[0,33]]
  %a = assign %a, %t, %v
  return
}
graph @mean(%a: ref f32[9]) {
  %p = address %a
  %t = shrink %p bounds=[[1,8]]
  %l = shrink %a bounds=[[0,7]]
  %r = shrink %a bounds=[[2,9]]
  %v = add %l, %r
  %a = assign %a, %t, %v
  return
}
graph @transpose(%a: ref f32[65,65]) {
  %p = address %a
  %v = permute %a order=[1,0]
  %a = assign %a, %p, %v
  return
}
graph @round(%a: ref f32[65,67]) {
  %p = address %a
  %l = shrink %a bounds=[[62,65],[0,67]]
  %f = shrink %a bounds=[[0,62],[0,67]]
  %v = concat %l, %f axis=0
  %a = assign %a, %p, %v
  return
}
graph @reverse(%a: ref f32[65]) {
  %p = address %a
  %v = flip %a axes=[0]
  %a = assign %a, %p, %v op=add
  return
}
>>>

== shifts, rows of all, and steps need no memory beside the array's, whatever the direction
$ for g in right left sums rows columns block large first spread; do sed -n "/^graph @$g(/,/^}/p" shifts.vf | viewfold dump --stage=kernels - | grep "^kernel\|temporar"; done
graph @right: 1 kernel, 1 temporary
kernel 0 -> %a f32[4097]
graph @left: 1 kernel, 1 temporary
kernel 0 -> %a f32[4097]
graph @sums: 1 kernel, 1 temporary
kernel 0 -> %a f32[7]
graph @rows: 1 kernel, 1 temporary
kernel 0 -> %a f32[65,67]
graph @columns: 1 kernel, 1 temporary
kernel 0 -> %a f32[65,67]
graph @block: 1 kernel, 1 temporary
kernel 0 -> %a f32[65,67]
graph @large: 1 kernel, 1 temporary
kernel 0 -> %a f32[4096,4096]
graph @first: 1 kernel, 1 temporary
kernel 0 -> %a f32[65,67]
graph @spread: 1 kernel, 1 temporary
kernel 0 -> %a f32[65]

== what no order of the loops settles is put into memory first: as many elements as the view has
$ for g in mean transpose round reverse; do sed -n "/^graph @$g(/,/^}/p" shifts.vf | viewfold dump --stage=kernels - | grep '^kernel'; done
kernel 0 -> %v f32[7]
kernel 1 -> %a f32[9]
kernel 0 -> %v f32[65,65]
kernel 1 -> %a f32[65,65]
kernel 0 -> %v f32[65,67]
kernel 1 -> %a f32[65,67]
kernel 0 -> %v f32[65]
kernel 1 -> %a f32[65]

== the last elements go first where a source lies before its target
$ sed -n '/^graph @sums(/,/^}/p' shifts.vf > sums.vf
$ viewfold dump --stage=index sums.vf
index @sums_0(p0: f32[7]) {
  range ridx0 in 0..6
  %0 = load p0[(5-ridx0)] : f32
  update p0[((ridx0*-1)+6)] add %0 over ridx0
}
$ sed -n '/^graph @sums(/,/^}/p' shifts.vf > sums.vf
$ viewfold run sums.vf --in a=[1,2,3,4,5,6,7] --check
a: f32[7] = [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0]
check a: 7 elements, bit-equal
$ sed -n '/^graph @mean(/,/^}/p' shifts.vf > mean.vf
$ viewfold run mean.vf --in a=[1,2,3,4,5,6,7,8,9] --check
a: f32[9] = [1.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 9.0]
check a: 9 elements, bit-equal

== lanes along an axis that is not ordered
$ sed -n '/^graph @block(/,/^}/p' shifts.vf > block.vf
$ viewfold dump --stage=loops --target 'vector_bytes=32 registers=16' block.vf
\# kernel 0 nest 0: split a1 8; vector a1.1
kernel @block_0(p0: f32[4355]) {
  for ridx2 in 0..1 thread {
    for ridx3 in 0..64 {
      %0 = (ridx3*-67) : index
      for ridx4 in 0..8 {
        %1 = (ridx4*8) : index
        for ridx6 in 0..8 vector {
          %2 = load p0[(%0+%1+ridx6+4222)] : f32
          update p0[(%0+%1+ridx6+4288)] = %2 over ridx3
        }
      }
      for ridx8 in 0..2 vector {
        %3 = load p0[(%0+ridx8+4286)] : f32
        update p0[(%0+ridx8+4352)] = %3 over ridx3
      }
    }
  }
}

== lanes along an axis that is ordered, where its elements lie next to each other: all of them are read before any is replaced
$ sed -n '/^graph @sums(/,/^}/p' shifts.vf | sed 's/7/39/g; s/6/38/g' > sums.vf
$ viewfold dump --stage=loops --target 'vector_bytes=32 registers=16' sums.vf
\# kernel 0 nest 0: split a0 8; vector a0.1
kernel @sums_0(p0: f32[39]) {
  for ridx1 in 0..1 thread {
    for ridx2 in 0..4 {
      %0 = (ridx2*-8) : index
      %1 = (ridx2*8) : index
      for ridx4 in 0..8 vector {
        %2 = load p0[(%0+(ridx4*-1)+37)] : f32
        update p0[(%0+(ridx4*-1)+38)] add %2 over (%1+ridx4)
      }
    }
    for ridx6 in 0..4 vector {
      %3 = load p0[((ridx6*-1)+5)] : f32
      update p0[((ridx6*-1)+6)] add %3 over (ridx6+32)
    }
    for ridx8 in 0..2 vector {
      %4 = load p0[((ridx8*-1)+1)] : f32
      update p0[((ridx8*-1)+2)] add %4 over (ridx8+36)
    }
  }
}
$ viewfold run sums.vf --in a=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39] --check
a: f32[39] min 1.0 max 77.0 mean 39 first 1.0 3.0 5.0 7.0 9.0 11.0 ...
check a: 39 elements, bit-equal
$ sed -n '/^graph @columns(/,/^}/p' shifts.vf > columns.vf
$ viewfold dump --stage=loops --target 'vector_bytes=32 registers=16' columns.vf | grep '^# kernel'
\# kernel 0 nest 0: split a0 64; split a1 8; vector a1.1; thread a0.0

== none where every second element is replaced
$ sed -n '/^graph @spread(/,/^}/p' shifts.vf > spread.vf
$ viewfold dump --stage=loops --target 'vector_bytes=32 registers=16' spread.vf | grep 'vector'
? 1

== an axis of one element and padding: a gather names the element several times, and reads it after it has been replaced
<<< padded.vf
graph @padded(%a: ref i16[1], %i: i64[2,2]) {
  %p = address %a
  %q = pad %p value=-1 pads=[[0,1]]
  %g = gather %q, %i axis=0
  %t = permute %g order=[1,0]
  %x = pad %a pads=[[0,1]]
  %v = gather %x, %i axis=0
  %n = neg %v
  %a = assign %a, %t, %n op=add
  return
}
>>>
$ viewfold run padded.vf --in a=[-5] --in i=[[0,1],[0,0]] --check
a: i16[1] = [5]
check a: 1 element, bit-equal
