# Loops for targets whose lanes are the work-items of a group (docs/loops.md).

== elementwise: neighbours side by side, copies a group's width apart; no loads ahead, no stores past caches
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

== short axes are made one: work-items go on in the next row
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

== a product: work-items along rows and columns, operands through locals, a slab of terms at a time
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
    %0 = (ridx5*16) : index
    %1 = ((ridx5//2)*480) : index
    %2 = ((ridx5//2)*768) : index
    %3 = ((ridx5//2)*-32) : index
    for ridx10 in 0..2 unroll {
      %4 = (ridx10*256) : index
      %5 = (ridx10*8) : index
      for ridx11 in 0..2 unroll {
        %6 = (ridx11*8) : index
        for ridx12 in 0..64 vector {
          %7 = (ridx12//8) : index
          %8 = (%7*-8) : index
          %9 = for ridx13 in 0..2 with %10 = f32(0.0) {
            local l0: f32[408] over ridx13
            %11 = (ridx13*24) : index
            for ridx17 in 0..3 {
              %12 = (ridx17*141) : index
              %13 = (ridx17*8) : index
              %14 = (ridx17*248) : index
              for ridx20 in 0..2 unroll {
                %15 = (ridx20*-133) : index
                %16 = (ridx20*-8) : index
                %17 = (ridx20*136) : index
                for ridx21 in 0..64 vector {
                  %18 = load p2[(%11+%14+%17+ridx21+%2+(((%13+%16+ridx21)//24)*24))] : f32
                  store l0[(%12+%15+(ridx21*17)+(((%13+%16+ridx21)//24)*-407))] = %18
                }
              }
            }
            local l1: f32[408] over ridx13
            %19 = (ridx13*768) : index
            for ridx24 in 0..3 {
              %20 = (ridx24*136) : index
              %21 = (ridx24*256) : index
              for ridx27 in 0..2 unroll {
                %22 = (ridx27*68) : index
                %23 = (ridx27*128) : index
                for ridx28 in 0..64 vector {
                  %24 = load p1[(%0+%19+%21+%23+ridx28+%3+((ridx28//16)*16))] : f32
                  store l1[(%20+%22+ridx28+(ridx28//16))] = %24
                }
              }
            }
            %25 = for ridx14 in 0..24 with %26 = %10 {
              %27 = load l0[(%5+(ridx14*17)+%7)] : f32
              %28 = load l1[(%6+ridx12+(ridx14*17)+%8)] : f32
              %29 = fma %27, %28, %26 : f32
              next %29
            }
            next %25
          }
          store p0[(%0+%4+%6+ridx12+%1+(%7*24))] = %9
        }
      }
    }
  }
}

== rows: a group for each; of few terms, several work-items for each of several
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

== columns: a work-item for each; several where that is few
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

== rows that fit in the locals of a group stay there; longer ones are read again
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

== moves: several digits are lanes, together no more than the target has
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
! viewfold dump: schedule: `split a0 16; split a1 8; reorder a0.0 a1.0 a0.1 a1.1; vector a0.1 a1.1; thread a0.0 a1.0`: these are more work-items than the target has lanes; moves are split AXIS STEP, tile AXIS STEP AXIS STEP, reorder DIGIT..., thread, unroll and vector DIGIT..., of axes a0 to a1
? 2
