# Cumulative operations: the prefixes of a block are made in vector lanes.
<<< scans.vf
graph @few(%x: f32[12,16]) {
  %y = cumsum %x axis=1
  return %y
}
graph @rows(%x: f32[4,64]) {
  %y = cumsum %x axis=1
  return %y
}
graph @long(%x: f32[64,4096]) {
  %y = cumsum %x axis=1
  return %y
}
graph @backwards(%x: i32[4,64]) {
  %y = cumsum %x axis=1 reverse=true
  return %y
}
graph @doubles(%x: f64[4,64]) {
  %y = cummax %x axis=1
  return %y
}
graph @terms(%x: f32[12,16]) {
  %i = iota shape=[12,16,16] axis=1 dtype=i32
  %k = iota shape=[12,16,16] axis=2 dtype=i32
  %m = le %k, %i
  %u = unsqueeze %x axis=1
  %t = expand %u shape=[12,16,16]
  %s = where %m, %t, f32(0.0)
  %y = sum %s axes=[2]
  return %y
}
>>>

== each element is read once
$ viewfold dump --stage=loops --graph few --target 'vector_bytes=64 registers=32' scans.vf | sed 1d
kernel @few_0(p0: f32[192], p1: f32[192]) {
  for ridx5 in 0..1 thread {
    for ridx6 in 0..12 {
      %0 = (ridx6*16) : index
      for ridx8 in 0..16 vector {
        %1 = load p1[(%0+ridx8)] : f32
        %2 = prefix add %1, f32(0.0) over ridx8 : f32
        store p0[(%0+ridx8)] = %2
      }
    }
  }
}

== a sum of the terms up to the element's own, however written, is a prefix
$ viewfold dump --stage=loops --graph terms --target 'vector_bytes=64 registers=32' scans.vf | grep -c 'prefix add'
1

== a vector has the lanes of a whole block in registers of any width: the order of additions is the same
$ viewfold dump --stage=loops --graph rows --target 'vector_bytes=64 registers=32' scans.vf > wide
$ viewfold dump --stage=loops --graph rows --target 'vector_bytes=16 registers=16' scans.vf > narrow
$ grep -c 'prefix add' wide
2
$ grep -c 'for .* in 0..16 vector' wide
2
$ grep 'prefix\|vector' narrow > narrow.lanes
$ grep 'prefix\|vector' wide | diff - narrow.lanes

== from the last element on, lanes are suffixes
$ viewfold dump --stage=loops --graph backwards --target 'vector_bytes=64 registers=32' scans.vf | grep -o '[a-z]*fix [a-z]*'
prefix add
suffix add

== of f64 a vector has 16 lanes as well
$ viewfold dump --stage=loops --graph doubles --target 'vector_bytes=64 registers=32' scans.vf | grep -o -e 'in 0..16 vector' -e 'prefix [a-z]*'
prefix max
in 0..16 vector
prefix max

== rows that are stored past the caches: what sums up the blocks prefetches, not what stores
$ viewfold dump --stage=loops --graph long --target 'vector_bytes=64 registers=32 l3=1048576' scans.vf | grep -o -e 'ahead [0-9]*' -e 'prefix add' -e stream
ahead 4096
prefix add
prefix add
prefix add
prefix add
stream

== rows that stay in a cache: what reads them again prefetches
$ viewfold dump --stage=loops --graph long --target 'vector_bytes=64 registers=32 l3=67108864' scans.vf | grep -o -e 'ahead [0-9]*' -e 'prefix add' -e stream
prefix add
prefix add
prefix add
ahead 4096
prefix add

== along an axis that the lanes do not run along, the prefixes of a block are made together
<<< columns.vf
graph @columns(%x: f32[160,300]) {
  %y = cumsum %x axis=0
  return %y
}
>>>
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' columns.vf | grep -c '^# kernel [12] .*unroll a[01].1'
2
$ viewfold dump --stage=loops --target 'vector_bytes=64 registers=32' columns.vf | grep '^# kernel 2' | grep -c 'vector a2.1'
1
