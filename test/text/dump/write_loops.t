# Loops of writes through views: those of stores of the same elements.
<<< flip.vf
graph @flip(%a: ref f32[64,64], %v: f32[32,32]) {
  %p = address %a
  %b = shrink %p bounds=[[1,33],[2,34]]
  %t = flip %b axes=[0,1]
  %a = assign %a, %t, %v op=add
  return
}
>>>
<<< transpose.vf
graph @transpose(%a: ref f32[64,64], %v: f32[32,32]) {
  %p = address %a
  %t = shrink %p bounds=[[1,33],[2,34]]
  %w = permute %v order=[1,0]
  %a = assign %a, %t, %w op=add
  return
}
>>>
<<< block.vf
graph @block(%a: ref f32[4096,4096], %v: f32[32,32]) {
  %p = address %a
  %t = shrink %p bounds=[[1,33],[2,34]]
  %a = assign %a, %t, %v
  return
}
>>>
<<< half.vf
graph @half(%a: ref f32[4096,4096], %v: f32[2048,4096]) {
  %p = address %a
  %t = shrink %p bounds=[[0,2048],[0,4096]]
  %a = assign %a, %t, %v
  return
}
graph @sum(%a: ref f32[4096,4096], %v: f32[2048,4096]) {
  %p = address %a
  %t = shrink %p bounds=[[0,2048],[0,4096]]
  %a = assign %a, %t, %v op=add
  return
}
>>>

== a flipped target is stored forwards, and its value is read backwards
$ viewfold dump --stage=index flip.vf
index @flip_0(p0: f32[4096], p1: f32[1024]) {
  range ridx0 in 0..32
  range ridx1 in 0..32
  %0 = load p0[((ridx0*64)+ridx1+66)] : f32
  %1 = load p1[((1023-(ridx0*32))-ridx1)] : f32
  %2 = add %0, %1 : f32
  store p0[((ridx0*64)+ridx1+66)] = %2
}

== a sum of a transposed value goes in tiles, as a store does
$ viewfold dump --stage=loops --target 'vector_bytes=32 registers=16' transpose.vf
\# kernel 0 nest 0: split a0 32; split a0 8; split a1 8; reorder a0.0 a1.0 a0.1 a0.2 a1.1; unroll a0.2; vector a1.1
kernel @transpose_0(p0: f32[4096], p1: f32[1024]) {
  for ridx6 in 0..1 thread {
    for ridx7 in 0..4 {
      %0 = (ridx7*8) : index
      %1 = (ridx7*256) : index
      for ridx8 in 0..4 {
        %2 = (ridx8*512) : index
        %3 = (ridx8*8) : index
        for ridx11 in 0..8 unroll {
          %4 = (ridx11*64) : index
          for ridx12 in 0..8 vector {
            %5 = load p0[(%0+%2+%4+ridx12+66)] : f32
            %6 = load p1[(%1+%3+ridx11+(ridx12*32))] : f32
            %7 = add %5, %6 : f32
            store p0[(%0+%2+%4+ridx12+66)] = %7
          }
        }
      }
    }
  }
}

== few elements of a large array stay in the caches, as many bytes do not, unless they have been read
$ viewfold dump --stage=loops --target 'vector_bytes=32 registers=16 l3=8388608' block.vf | grep 'store p0'
          store p0[(%0+%2+ridx11+4098)] = %3
$ viewfold dump --stage=loops --target 'vector_bytes=32 registers=16 l3=8388608' half.vf | grep 'store p0'
        store p0[(%0+%1+ridx8)] = %2 stream
        store p0[(%0+%1+ridx8)] = %4
