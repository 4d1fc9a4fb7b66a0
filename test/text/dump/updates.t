# The order of loads and stores where a write combines elements with values: codegen/emit/emission_order.c.

== each vector is stored before the next one is loaded
<<< slab.vf
graph @slab(%a: ref f32[1024,1024], %v: f32[1024,32]) {
  %p = address %a
  %t = shrink %p bounds=[[0,1024],[64,96]]
  %a = assign %a, %t, %v op=add
  return
}
>>>
$ viewfold dump --stage=llvm --target x86-64-v3 slab.vf | grep -oE '(load|store) <8 x float>'
load <8 x float>
load <8 x float>
store <8 x float>
load <8 x float>
load <8 x float>
store <8 x float>
load <8 x float>
load <8 x float>
store <8 x float>
load <8 x float>
load <8 x float>
store <8 x float>
