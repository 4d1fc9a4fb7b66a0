# Plans of functions that write references: where the caller's memory is changed, nothing of its size is filled or copied.
<<< f.vf
graph @add(%a: ref f32[4096,64], %u: f32[64], %i: i64[]) {
  %p = address %a
  %d = index_point %i
  %row = create_view %p, %d
  %a = assign %a, %row, %u op=add
  return
}
graph @read(%a: f32[4096,64], %u: f32[64], %i: i64[]) {
  %s = sum %u
  return %s
}
graph @write(%a: ref f32[4096,64], %u: f32[64], %i: i64[]) {
  call %a, %u, %i do=@add
  %s = sum %u
  return %s
}
graph @choose(%a: ref f32[4096,64], %u: f32[64], %i: i64[]) {
  %c = gt %i, 3
  %s = cond %c, %a, %u, %i then=@write else=@read
  return %s
}
graph @call(%a: ref f32[4096,64], %u: f32[64], %i: i64[]) {
  call %a, %u, %i do=@add
  return
}
graph @cond(%a: ref f32[4096,64], %u: f32[64], %i: i64[], %b: bool[]) {
  %s = cond %b, %a, %u, %i then=@write else=@read
  return %s
}
graph @scan(%a: ref f32[4096,64], %us: f32[16,64], %is: i64[16]) {
  scan %a, %us, %is do=@add
  return
}
graph @more(%n: i64[], %a: f32[4096,64], %u: f32[64]) {
  %c = lt %n, 9
  return %c
}
graph @next(%n: i64[], %a: ref f32[4096,64], %u: f32[64]) {
  call %a, %u, %n do=@add
  %m = add %n, 1
  return %m
}
graph @while(%a: ref f32[4096,64], %u: f32[64]) {
  %n = while_loop 0, %a, %u while=@more do=@next carries=2
  return %n
}
graph @nested(%a: ref f32[4096,64], %us: f32[16,64], %is: i64[16]) {
  %s = scan %a, %us, %is do=@choose
  return %s
}
graph @scanned(%a: f32[4096,64], %u: f32[64], %i: i64[]) {
  %p = address %a
  %d = index_point %i
  %row = create_view %p, %d
  %b = assign %a, %row, %u op=add
  return %b, %i
}
graph @made(%x: f32[4096,64], %us: f32[16,64], %is: i64[16], %v: f32[2,64]) {
  %p = address %x
  %y = neg %x
  %z, %s = scan %y, %us, %is do=@scanned
  %top = shrink %p bounds=[[0,2],[0,64]]
  %w = assign %z, %top, %v
  return %w
}
graph @late(%a: ref f32[4096,64], %us: f32[16,64], %is: i64[16]) {
  %old = %a
  scan %a, %us, %is do=@add
  %d = sub %a, %old
  %s = sum %d
  return %s
}
graph @before(%a: ref f32[4096,64], %us: f32[16,64], %is: i64[16]) {
  %old = sum %a
  scan %a, %us, %is do=@add
  %t = mul %old, 2
  return %t
}
>>>

== a call
$ viewfold dump --stage=kernels --graph call f.vf | grep -E '^ *(kernel|copy|cond|scan|while|carries).*'
scan, trip count 1
  carries moving 0 f32[4096,64] from %a f32[4096,64] to %a f32[4096,64], in place
    kernel 0 -> temporary 2 of %row i64[]
    kernel 1 -> moving 0 f32[4096,64]

== a condition, whose other function leaves the reference
$ viewfold dump --stage=kernels --graph cond f.vf | grep -E '^ *(kernel|copy|cond|scan|while|carries).*'
cond of %b bool[]
    kernel 0 -> %s f32[]
    scan, trip count 1
      carries moving 0 f32[4096,64] from %a f32[4096,64] to %a f32[4096,64], in place
        kernel 1 -> temporary 2 of %row i64[]
        kernel 2 -> moving 0 f32[4096,64]
    kernel 3 -> %s f32[]

== a scan
$ viewfold dump --stage=kernels --graph scan f.vf | grep -E '^ *(kernel|copy|cond|scan|while|carries).*'
scan, trip count 16
  carries moving 0 f32[4096,64] from %a f32[4096,64] to %a f32[4096,64], in place
    kernel 0 -> temporary 2 of %row i64[]
    kernel 1 -> moving 0 f32[4096,64]

== a while loop
$ viewfold dump --stage=kernels --graph while f.vf | grep -E '^ *(kernel|copy|cond|scan|while|carries).*'
kernel 0 -> temporary 1 of %d i64[]
while %c bool[], any trip count
  carries moving 0 i64[] from temporary 1 of %d i64[] to %n i64[], written to moving 1 i64[], alternating with temporary 2 i64[]
  carries moving 2 f32[4096,64] from %a f32[4096,64] to %a f32[4096,64], in place
  while
    kernel 1 -> %c bool[]
    kernel 2 -> moving 1 i64[]
    scan, trip count 1
      carries moving 4 f32[4096,64] from moving 2 f32[4096,64] to moving 2 f32[4096,64], in place
        kernel 3 -> temporary 6 of %row i64[]
        kernel 4 -> moving 4 f32[4096,64]

== a condition in a scan
$ viewfold dump --stage=kernels --graph nested f.vf | grep -E '^ *(kernel|copy|cond|scan|while|carries).*'
scan, trip count 16
  carries moving 0 f32[4096,64] from %a f32[4096,64] to %a f32[4096,64], in place
    kernel 0 -> %c bool[]
    cond of %c bool[]
        kernel 1 -> moving 4 f32[]
        scan, trip count 1
          carries moving 5 f32[4096,64] from moving 0 f32[4096,64] to moving 0 f32[4096,64], in place
            kernel 2 -> temporary 4 of %row i64[]
            kernel 3 -> moving 5 f32[4096,64]
        kernel 4 -> moving 4 f32[]

== a value that a scan and a write change
$ viewfold dump --stage=kernels --graph made f.vf | grep -E '^ *(kernel|copy|cond|scan|while|carries).*'
kernel 0 -> %w f32[4096,64]
scan, trip count 16
  carries moving 0 f32[4096,64] from %w f32[4096,64] to %w f32[4096,64], in place
    kernel 1 -> temporary 3 i64[]
    kernel 2 -> moving 0 f32[4096,64]
kernel 3 -> %w f32[4096,64]

== an older version that is read later: it stays in the caller's memory until the end
$ viewfold dump --stage=kernels --graph late f.vf | grep -E '^ *(kernel|copy|cond|scan|while|carries).*'
scan, trip count 16
  carries moving 0 f32[4096,64] from %a f32[4096,64] to %a f32[4096,64], in place
    kernel 0 -> temporary 3 of %row i64[]
    kernel 1 -> moving 0 f32[4096,64]
kernel 2 -> temporary 1 of %s f32[32]
kernel 3 -> %s f32[]

== an older version that is read before
$ viewfold dump --stage=kernels --graph before f.vf | grep -E '^ *(kernel|copy|cond|scan|while|carries).*'
kernel 0 -> temporary 1 of %old f32[32]
scan, trip count 16
  carries moving 0 f32[4096,64] from %a f32[4096,64] to %a f32[4096,64], in place
    kernel 1 -> temporary 3 of %row i64[]
    kernel 2 -> moving 0 f32[4096,64]
kernel 3 -> %t f32[]
