module @jit_newton attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4xf32>) -> (tensor<3x4xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<9.99999974E-5> : tensor<f32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0:3 = stablehlo.while(%iterArg = %arg0, %iterArg_2 = %arg0, %iterArg_3 = %arg0) : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
    cond {
      %1 = stablehlo.multiply %iterArg_3, %iterArg_3 : tensor<3x4xf32>
      %2 = stablehlo.subtract %1, %iterArg : tensor<3x4xf32>
      %3 = stablehlo.abs %2 : tensor<3x4xf32>
      %4 = stablehlo.reduce(%3 init: %cst_1) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<f32>
      %5 = stablehlo.compare GT, %4, %cst_0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %1 = stablehlo.divide %iterArg_2, %iterArg_3 : tensor<3x4xf32>
      %2 = stablehlo.add %iterArg_3, %1 : tensor<3x4xf32>
      %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
      %4 = stablehlo.divide %2, %3 : tensor<3x4xf32>
      stablehlo.return %iterArg, %iterArg_2, %4 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
    }
    return %0#2 : tensor<3x4xf32>
  }
}
