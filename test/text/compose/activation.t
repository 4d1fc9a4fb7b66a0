# Activations and short formulas. In f64 the values are those of mpmath with 40 digits, except for the last
# two digits and gelu of -8, whose error is one of 1 + erf (-4.9767684594174e-15 exactly).
<<< act.vf
graph @act(%x: f64[7]) {
  %silu = silu %x
  %gelu = gelu %x
  %tanh = gelu %x approximate=tanh
  %softplus = softplus %x
  %leaky = leaky_relu %x
  %elu = elu %x
  return %silu, %gelu, %tanh, %softplus, %leaky, %elu
}
>>>

== values
$ viewfold run act.vf --in x=[-8,-1,-0.25,0,0.5,3,100]
silu: f64[7] = [-0.002682801043731825, -0.26894142136999516, -0.10945587477855048, 0.0, 0.31122966560092724, 2.8577223804672998, 100.0]
gelu: f64[7] = [-4.976768459417428e-15, -0.15865525393145702, -0.10032341857926905, 0.0, 0.34573123063700656, 2.99595030590511, 100.0]
tanh: f64[7] = [-3.1077829375011112e-21, -0.1588080093917233, -0.100324649298315, 0.0, 0.34571400982514394, 2.9963626079182273, 100.0]
softplus: f64[7] = [0.00033540637289576885, 0.31326168751822286, 0.5759394198788436, 0.6931471805599453, 0.9740769841801067, 3.048587351573742, 100.0]
leaky: f64[7] = [-0.08, -0.01, -0.0025, 0.0, 0.5, 3.0, 100.0]
elu: f64[7] = [-0.9996645373720975, -0.6321205588285577, -0.22119921692859512, 0.0, 0.5, 3.0, 100.0]

== f16 is computed in f32; integers become floats
<<< narrow.vf
graph @narrow(%x: f16[3], %i: i32[3]) {
  %a = silu %x
  %b = softplus %x
  %c = reciprocal %i
  %d = square %i
  %e = sign %i
  %f = sign %x
  %g = clip %i low=-1 high=2
  %h = clip %x high=1.5
  return %a, %b, %c, %d, %e, %f, %g, %h
}
>>>
$ viewfold run narrow.vf --in x=[-2,nan,300] --in i=[-4,0,5]
a: f16[3] = [-0.2384, nan, 300.0]
b: f16[3] = [0.127, nan, 300.0]
c: f32[3] = [-0.25, inf, 0.2]
d: i32[3] = [16, 0, 25]
e: i32[3] = [-1, 0, 1]
f: f16[3] = [-1.0, nan, 1.0]
g: i32[3] = [-1, 0, 2]
h: f16[3] = [-2.0, nan, 1.5]

== infinities and nan
<<< ends.vf
graph @ends(%x: f32[3]) {
  %softplus = softplus %x
  %elu = elu %x
  %sign = sign %x
  %clip = clip %x low=-1 high=1
  %expm1 = expm1 %x
  %log1p = log1p %x
  %erfinv = erfinv %x
  return %softplus, %elu, %sign, %clip, %expm1, %log1p, %erfinv
}
>>>
$ viewfold run ends.vf --in x=[-inf,nan,inf]
softplus: f32[3] = [0.0, nan, inf]
elu: f32[3] = [-1.0, nan, inf]
sign: f32[3] = [-1.0, nan, 1.0]
clip: f32[3] = [-1.0, nan, 1.0]
expm1: f32[3] = [-1.0, nan, inf]
log1p: f32[3] = [nan, nan, inf]
erfinv: f32[3] = [nan, nan, nan]
