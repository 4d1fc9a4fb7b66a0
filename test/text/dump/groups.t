# Loop nests for targets with work-groups, whose vector lanes are work-items (docs/loops.md).

== elementwise: adjacent work-items have adjacent elements, unrolled values are a group's width apart; no prefetch, no non-temporal stores
$ viewfold dump --stage=loops --target 'lanes=64 local=16384 vector_bytes=16 registers=32' 'f32[4096,4096].flip(0)'
\# kernel 0 nest 0: split a1 256; split a1 64; unroll a1.1; vector a1.2; thread a0 a1.0
kernel @chain_0(p0: f32[16777216], p1: f32[16777216]) {
  for ridx6 in 0..65536 thread {
    %0 = (ridx6*256) : index
    %1 = ((ridx6//16)*-8192) : index
    for ridx9 in 0..4 unroll {
      %2 = (ridx9*64) : index
      for ridx10 in 0..64 vector {
        %3 = load p1[(%0+%2+ridx10+%1+16773120)] : f32
        store p0[(%0+%2+ridx10)] = %3
      }
    }
  }
}

== short axes are coalesced: work-items continue in the next row
$ viewfold dump --stage=loops --target 'lanes=64 local=16384 vector_bytes=16 registers=32' 'f32[64,8,5].flip(1)'
\# kernel 0 nest 0: split a0 64; vector a0.1; thread a0.0
kernel @chain_0(p0: f32[2560], p1: f32[2560]) {
  for ridx9 in 0..40 thread {
    %0 = (ridx9*64) : index
    %1 = (ridx9*94) : index
    %2 = (ridx9*16) : index
    for ridx11 in 0..64 vector {
      %3 = load p1[(%1+ridx11+(((ridx9+(ridx11*-1)+4)//5)*10)+(((%2+(ridx11*-1)+39)//40)*-80)+35)] : f32
      store p0[(%0+ridx11)] = %3
    }
  }
}

== masks along work-items are tested, masks that hold for whole groups are split off
$ viewfold dump --stage=loops --target 'lanes=64 local=16384 vector_bytes=16 registers=32' 'f32[126,126].pad((1,1),(1,1))'
\# kernel 0 nest 0: split a1 64; vector a1.1; thread a0 a1.0
kernel @chain_0(p0: f32[16384], p1: f32[15876]) {
  for ridx4 in 0..256 thread {
    %0 = (ridx4*64) : index
    %1 = ((ridx4//2)*-2) : index
    %2 = (ridx4>=2) : bool
    %3 = (ridx4<254) : bool
    for ridx6 in 0..64 vector {
      %4 = load p1[(%0+ridx6+%1+-127)] if (%2&%3&((ridx4+ridx6+%1)>=1)&((ridx4+ridx6+%1)<64)) : f32
      store p0[(%0+ridx6)] = %4
    }
  }
}
$ viewfold dump --stage=loops --target 'lanes=64 local=16384 vector_bytes=16 registers=32' 'f32[62,128].pad((1,1),(0,0))'
\# kernel 0 nest 0: split a0 64; vector a0.1; thread a0.0
\# kernel 0 nest 1: split a0 64; vector a0.1; thread a0.0
\# kernel 0 nest 2: split a0 64; vector a0.1; thread a0.0
kernel @chain_0(p0: f32[8192], p1: f32[7936]) {
  for ridx12 in 0..128 thread {
    %0 = (min(ridx12, 1)*64) : index
    for ridx13 in 0..max(min(min((ridx12+1), ((ridx12*-1)+2)), 1), 0) {
      for ridx15 in 0..64 vector {
        store p0[(ridx15+%0)] = f32(0.0)
      }
    }
    %1 = (max(min((ridx12+-2), 123), 0)*64) : index
    for ridx16 in 0..max(min(min((ridx12+-1), ((ridx12*-1)+126)), 1), 0) {
      for ridx18 in 0..64 vector {
        %2 = load p1[(ridx18+%1)] : f32
        store p0[(ridx18+%1+128)] = %2
      }
    }
    %3 = (max((ridx12+-126), 0)*64) : index
    for ridx19 in 0..max(min(min((ridx12+-125), ((ridx12*-1)+128)), 1), 0) {
      for ridx21 in 0..64 vector {
        store p0[(ridx21+%3+8064)] = f32(0.0)
      }
    }
  }
}

== a transpose goes through a local: read along one axis, written along the other
$ viewfold dump --stage=loops --target 'lanes=64 local=16384 vector_bytes=16 registers=32' 'f32[64,96].permute(1,0)'
\# kernel 0 nest 0: thread a0
\# kernel 0 nest 1: split a0 256; split a0 64; unroll a0.1; vector a0.2
\# kernel 0 nest 2: split a0 256; split a0 64; unroll a0.1; vector a0.2
kernel @chain_0(p0: f32[6144], p1: f32[6144]) {
  for ridx11 in 0..6 thread {
    local l0: f32[1056] over ridx11
    %0 = (ridx11*3072) : index
    %1 = ((ridx11//2)*-6112) : index
    for ridx12 in 0..4 {
      %2 = (ridx12*264) : index
      %3 = (ridx12*768) : index
      for ridx15 in 0..4 unroll {
        %4 = (ridx15*66) : index
        %5 = (ridx15*192) : index
        for ridx16 in 0..64 vector {
          %6 = load p1[(%0+%3+%5+ridx16+%1+((ridx16//32)*64))] : f32
          store l0[(%2+%4+ridx16+(ridx16//32))] = %6
        }
      }
    }
    %7 = (ridx11*32) : index
    %8 = ((ridx11//2)*1984) : index
    for ridx17 in 0..4 {
      %9 = (ridx17*512) : index
      %10 = (ridx17*8) : index
      for ridx20 in 0..4 unroll {
        %11 = (ridx20*128) : index
        %12 = (ridx20*2) : index
        for ridx21 in 0..64 vector {
          %13 = load l0[(%10+%12+(ridx21*33)+((ridx21//32)*-1055))] : f32
          store p0[(%7+%9+%11+ridx21+%8+((ridx21//32)*32))] = %13
        }
      }
    }
  }
}

== a matrix product: work-items along rows and columns, operands in shared-memory K blocks
<<< product.vf
graph @product(%a: f32[64,48], %b: f32[48,32]) {
  %y = matmul %a, %b
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'lanes=64 local=16384 vector_bytes=16 registers=32' product.vf
\# kernel 0 nest 0: split a0 16; split a0 8; split a1 16; split a1 8; reorder a0.0 a1.0 a0.1 a1.1 a0.2 a1.2; unroll a0.1 a1.1; vector a0.2 a1.2; thread a0.0 a1.0
kernel @product_0(p0: f32[2048], p1: f32[1536], p2: f32[3072]) {
  for ridx5 in 0..8 thread {
    local l0: f32[544] over ridx5 kept ahead
    %0 = ((ridx5//2)*768) : index
    for ridx19 in 0..4 unroll {
      %1 = (ridx19*4) : index
      %2 = (ridx19*192) : index
      for ridx20 in 0..64 vector {
        %3 = load p2[(%2+ridx20+%0+((ridx20//16)*32))] : f32
        store l0[(%1+(ridx20*17)+((ridx20//16)*-271))] = %3
      }
    }
    local l1: f32[544] over ridx5 kept ahead
    %4 = (ridx5*16) : index
    %5 = ((ridx5//2)*-32) : index
    for ridx31 in 0..4 unroll {
      %6 = (ridx31*68) : index
      %7 = (ridx31*128) : index
      for ridx32 in 0..64 vector {
        %8 = load p1[(%4+%7+ridx32+%5+((ridx32//16)*16))] : f32
        store l1[(%6+ridx32+(ridx32//16))] = %8
      }
    }
    %9 = ((ridx5//2)*480) : index
    for ridx10 in 0..2 unroll {
      %10 = (ridx10*256) : index
      %11 = (ridx10*8) : index
      for ridx11 in 0..2 unroll {
        %12 = (ridx11*8) : index
        for ridx12 in 0..64 vector {
          %13 = (ridx12//8) : index
          %14 = (%13*-8) : index
          %15 = for ridx13 in 0..3 with %16 = f32(0.0) {
            %17 = (ridx13*-272) : index
            %18 = ((ridx13//2)*544) : index
            %19 = (min((ridx13+1), 2)*16) : index
            for ridx25 in 0..4 unroll {
              %20 = (ridx25*4) : index
              %21 = (ridx25*192) : index
              for ridx26 in 0..64 vector {
                %22 = load p2[(%21+ridx26+%0+((ridx26//16)*32)+%19)] : f32
                store l0[(%17+%20+(ridx26*17)+%18+((ridx26//16)*-271)+272)] = %22
              }
            }
            %23 = (min((ridx13+1), 2)*512) : index
            for ridx37 in 0..4 unroll {
              %24 = (ridx37*68) : index
              %25 = (ridx37*128) : index
              for ridx38 in 0..64 vector {
                %26 = load p1[(%4+%25+ridx38+%5+((ridx38//16)*16)+%23)] : f32
                store l1[(%17+%24+ridx38+%18+(ridx38//16)+272)] = %26
              }
            }
            %27 = (ridx13*272) : index
            %28 = ((ridx13//2)*-544) : index
            %29 = for ridx14 in 0..16 with %30 = %16 {
              %31 = load l0[(%11+%27+(ridx14*17)+%13+%28)] : f32
              %32 = load l1[(%12+ridx12+%27+(ridx14*17)+%14+%28)] : f32
              %33 = fma %31, %32, %30 : f32
              next %33
            }
            next %29
          }
          store p0[(%4+%10+%12+ridx12+%9+(%13*24))] = %15
        }
      }
    }
  }
}

== row sums: a group for each long row; a group for several short rows, with several work-items each
<<< rows.vf
graph @rows(%x: f32[9,3000], %y: f32[4096,40]) {
  %a = sum %x axes=[1]
  %b = sum %y axes=[1]
  return %a, %b
}
>>>
$ viewfold dump --stage=loops --target 'lanes=64 local=16384 vector_bytes=16 registers=32' rows.vf | grep -e '^#' -e local -e 'in.*vector'
\# kernel 0 nest 0: thread a0
    %1 = for ridx4 in 0..64 vector with %2 = f32(0.0) {
\# kernel 1 nest 0: thread a0
\# kernel 1 nest 1: split a0 64; vector a0.1
\# kernel 1 nest 2: split a0 8; vector a0.1
    local l0: f32[72] over ridx9
    for ridx11 in 0..64 vector {
    for ridx13 in 0..8 vector {

== column sums: a work-item for each; several work-items for each where there are few columns
<<< columns.vf
graph @columns(%x: f32[50,100000], %y: f32[900,64]) {
  %a = sum %x axes=[0]
  %b = sum %y axes=[0]
  return %a, %b
}
>>>
$ viewfold dump --stage=loops --target 'lanes=64 local=16384 vector_bytes=16 registers=32' columns.vf | grep -e '^#' -e local -e 'in.*vector'
\# kernel 0 nest 0: split a0 64; vector a0.1; thread a0.0
    for ridx5 in 0..64 vector {
\# kernel 1 nest 0: thread a0
\# kernel 1 nest 1: split a0 64; vector a0.1
\# kernel 1 nest 2: split a0 32; vector a0.1
    local l0: f32[64] over ridx9
    for ridx11 in 0..64 vector {
    for ridx16 in 0..32 vector {

== rows that fit in the locals of a group stay there; longer ones are read a second time
<<< softmax.vf
graph @softmax(%x: f32[600,1024], %y: f32[600,8192]) {
  %a = softmax %x axis=1
  %b = softmax %y axis=1
  return %a, %b
}
>>>
$ viewfold dump --stage=loops --target 'lanes=64 local=16384 vector_bytes=16 registers=32' softmax.vf | grep -e kernel.@ -e local
kernel @softmax_0(p0: f32[614400], p1: f32[614400]) {
    local l0: f32[1] over ridx7
    local l1: f32[1024] over ridx7
    local l2: f32[1] over ridx7
kernel @softmax_1(p0: f32[4915200], p1: f32[4915200]) {
    local l0: f32[2] over ridx11
    local l1: f32[1] over ridx11
    local l2: f32[2] over ridx11
    local l3: f32[1] over ridx11

== moves: several levels can be work-items, together at most as many as the target has
<<< square.moves
kernel 0 nest 0: split a0 8; split a1 8; reorder a0.0 a1.0 a0.1 a1.1; vector a0.1 a1.1; thread a0.0 a1.0
>>>
$ viewfold dump --stage=loops --target 'lanes=64 local=16384 vector_bytes=16 registers=32' --schedule square.moves 'f32[64,64].flip(0)' | grep vector
\# kernel 0 nest 0: split a0 8; split a1 8; reorder a0.0 a1.0 a0.1 a1.1; vector a0.1 a1.1; thread a0.0 a1.0
    for ridx9 in 0..64 vector {
<<< many.moves
kernel 0 nest 0: split a0 16; split a1 8; reorder a0.0 a1.0 a0.1 a1.1; vector a0.1 a1.1; thread a0.0 a1.0
>>>
$ viewfold dump --stage=loops --target 'lanes=64 local=16384 vector_bytes=16 registers=32' --schedule many.moves 'f32[64,64].flip(0)'
! viewfold dump: schedule:1: kernel 0 nest 0: `split a0 16; split a1 8; reorder a0.0 a1.0 a0.1 a1.1; vector a0.1 a1.1; thread a0.0 a1.0`: these are more work-items than a group of the target has; moves are split AXIS STEP, tile AXIS STEP AXIS STEP, reorder LEVEL..., thread, unroll and vector LEVEL..., of axes a0 to a1
? 2

== a large product: eight by eight sums for each work-item, in fours that touch; K blocks are loaded one iteration ahead
<<< large.vf
graph @large(%a: f32[4096,4096], %b: f32[4096,4096]) {
  %y = matmul %a, %b
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'lanes=256 local=32768 vector_bytes=16 registers=32' large.vf | grep -e '^#' -e local -e load -e for
\# kernel 0 nest 0: split a0 128; split a0 64; split a0 4; split a1 128; split a1 64; split a1 4; reorder a0.0 a1.0 a0.1 a1.1 a0.2 a1.2 a0.3 a1.3; unroll a0.1 a1.1 a0.3 a1.3; vector a0.2 a1.2; thread a0.0 a1.0
  for ridx5 in 0..1024 thread {
    local l0: f32[2112] over ridx5 kept ahead
    for ridx23 in 0..4 unroll {
      for ridx24 in 0..256 vector {
        %3 = load p2[(%2+ridx24+%0+((ridx24//8)*4088))] : f32
    local l1: f32[2112] over ridx5 kept ahead
    for ridx35 in 0..4 unroll {
      for ridx36 in 0..256 vector {
        %8 = load p1[(%4+%7+ridx36+%5+((ridx36//128)*3968))] : f32
    for ridx12 in 0..2 unroll {
      for ridx13 in 0..2 unroll {
        for ridx14 in 0..256 vector {
          for ridx15 in 0..4 unroll {
            for ridx16 in 0..4 unroll {
              %18 = for ridx17 in 0..512 with %19 = f32(0.0) {
                for ridx29 in 0..4 unroll {
                  for ridx30 in 0..256 vector {
                    %25 = load p2[(%24+ridx30+%0+((ridx30//8)*4088)+%22)] : f32
                for ridx41 in 0..4 unroll {
                  for ridx42 in 0..256 vector {
                    %29 = load p1[(%4+%28+ridx42+%5+((ridx42//128)*3968)+%26)] : f32
                %32 = for ridx18 in 0..8 with %33 = %19 {
                  %34 = load l0[(%11+ridx15+%30+(ridx18*132)+%15+%31)] : f32
                  %35 = load l1[(%12+%13+ridx16+%30+(ridx18*132)+%16+%31)] : f32

== operands that are both contiguous along the terms: tiles, unless there are few of them with many terms each
$ for s in 512,1024 128,1024; do printf 'graph @m(%%a: f32[%s], %%b: f32[%s]) {\n  %%t = permute %%b order=[1,0]\n  %%y = matmul %%a, %%t\n  return %%y\n}\n' $s $s >along.vf
> viewfold dump --stage=loops --target 'lanes=256 local=32768' along.vf | grep '^#'; done
\# kernel 0 nest 0: split a0 32; split a0 16; split a1 32; split a1 16; reorder a0.0 a1.0 a0.1 a1.1 a0.2 a1.2; unroll a0.1 a1.1; vector a0.2 a1.2; thread a0.0 a1.0
\# kernel 0 nest 0: thread a0
\# kernel 0 nest 1: split a0 256; vector a0.1
\# kernel 0 nest 2: split a0 16; vector a0.1

== symbolic sizes: remainders are computed by a quarter of the work-items, then a quarter of these, until none can remain
<<< rest.vf
graph @q(%x: f32[n=1..100,8], %y: f32[n,8]) {
  %z = add %x, %y
  return %z
}
>>>
$ viewfold dump --stage=loops --target 'lanes=64 local=16384 vector_bytes=16 registers=32' rest.vf | grep -e for
  for ridx5 in 0..max(%0, 1) thread {
    for ridx6 in 0..max(min(min((ridx5+1), ((ridx5*-1)+%0)), 1), 0) {
      for ridx8 in 0..64 vector {
    for ridx9 in 0..max(((ridx5*-1)+1), 0) {
      for ridx10 in 0..((n//2)+(%0*-4)) {
        for ridx12 in 0..16 vector {
      for ridx13 in 0..((n*2)+((n//2)*-4)) {
        for ridx15 in 0..4 vector {

== long rows: one for each group, kept in a local that has room for it, else read a second time
<<< long.vf
graph @long(%x: f32[40,5000]) {
  %y = softmax %x axis=1
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'lanes=256 local=32768' long.vf | grep -e thread -e 'local l' -e exp
\# kernel 0 nest 0: thread a0
  for ridx7 in 0..40 thread {
    local l0: f32[1] over ridx7
    local l1: f32[5000] over ridx7
    local l2: f32[1] over ridx7
$ viewfold dump --stage=loops --target 'lanes=256 local=8192' long.vf | grep -e thread -e 'local l' -e exp
\# kernel 0 nest 0: thread a0
  for ridx5 in 0..40 thread {
    local l0: f32[1] over ridx5
    local l1: f32[1] over ridx5

== rows with vector lanes: blocks of many rows, whole rows, or rows read twice, depending on the room for locals
<<< tall.vf
graph @tall(%x: f64[640,1200]) {
  %y = softmax %x axis=1
  return %y
}
>>>
$ for local in 1048576 32768 8192; do
>   viewfold dump --stage=loops --target "lanes=0 local=$local" tall.vf | grep -e thread -e 'local l' | grep -v '#'
> done
  for ridx42 in 0..10 thread {
    local l3: f64[128] over ridx42 kept
    local l4: f64[128] over ridx42 kept
    local l5: f64[128] over ridx42 kept
    local l6: f64[128] over ridx42 kept
      local l7: f64[64] over ridx42, ridx55
      local l8: f64[64] over ridx42, ridx55
      local l1: f64[16384] over ridx42, ridx55
      local l9: f64[64] over ridx42, ridx55
    local l0: f64[64] over ridx42
    local l10: f64[64] over ridx42
    local l2: f64[64] over ridx42
  for ridx6 in 0..160 thread {
  for ridx7 in 0..640 thread {
    local l0: f64[1] over ridx7
    local l1: f64[1200] over ridx7
    local l2: f64[1] over ridx7
  for ridx5 in 0..320 thread {
      local l0: f64[1] over (%0+ridx6)
      local l1: f64[1] over (%0+ridx6)
