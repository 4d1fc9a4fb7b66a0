module @jit__lambda attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4xf32>) -> (tensor<3x4xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<3> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %3:5 = stablehlo.while(%iterArg = %arg0, %iterArg_3 = %c_1, %iterArg_4 = %0, %iterArg_5 = %1, %iterArg_6 = %2) : tensor<3x4xf32>, tensor<i32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
    cond {
      %7 = stablehlo.compare LT, %iterArg_3, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %7 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_3) : (tensor<3x4xf32>, tensor<i32>) -> tensor<4xf32>
      %8:3 = func.call @closed_call(%iterArg_4, %7) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      %9 = func.call @dynamic_update_index_in_dim(%iterArg_5, %8#1, %iterArg_3) : (tensor<3x4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<3x4xf32>
      %10 = func.call @dynamic_update_index_in_dim(%iterArg_6, %8#2, %iterArg_3) : (tensor<3x4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<3x4xf32>
      %11 = stablehlo.add %iterArg_3, %c : tensor<i32>
      stablehlo.return %iterArg, %11, %8#0, %9, %10 : tensor<3x4xf32>, tensor<i32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
    }
    %4 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %6:6 = stablehlo.while(%iterArg = %3#3, %iterArg_3 = %arg0, %iterArg_4 = %3#4, %iterArg_5 = %c_1, %iterArg_6 = %4, %iterArg_7 = %5) : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<i32>, tensor<4xf32>, tensor<3x4xf32>
    cond {
      %7 = stablehlo.compare LT, %iterArg_5, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %7 = stablehlo.subtract %c_0, %iterArg_5 : tensor<i32>
      %8 = stablehlo.subtract %7, %c : tensor<i32>
      %9 = func.call @dynamic_index_in_dim(%iterArg, %8) : (tensor<3x4xf32>, tensor<i32>) -> tensor<4xf32>
      %10 = func.call @dynamic_index_in_dim(%iterArg_3, %8) : (tensor<3x4xf32>, tensor<i32>) -> tensor<4xf32>
      %11 = func.call @dynamic_index_in_dim(%iterArg_4, %8) : (tensor<3x4xf32>, tensor<i32>) -> tensor<4xf32>
      %12:2 = func.call @closed_call_0(%iterArg_6, %9, %10, %11) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
      %13 = func.call @dynamic_update_index_in_dim(%iterArg_7, %12#1, %8) : (tensor<3x4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<3x4xf32>
      %14 = stablehlo.add %iterArg_5, %c : tensor<i32>
      stablehlo.return %iterArg, %iterArg_3, %iterArg_4, %14, %12#0, %13 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<i32>, tensor<4xf32>, tensor<3x4xf32>
    }
    return %6#5 : tensor<3x4xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<3x4xf32>, %arg1: tensor<i32>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @closed_call(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.sine %arg0 : tensor<4xf32>
    %1 = stablehlo.cosine %arg0 : tensor<4xf32>
    %2 = stablehlo.multiply %0, %arg1 : tensor<4xf32>
    return %2, %1, %0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<3x4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<i32>) -> tensor<3x4xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
    return %1 : tensor<3x4xf32>
  }
  func.func private @closed_call_0(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>, %arg3: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.multiply %arg3, %arg0 : tensor<4xf32>
    %1 = stablehlo.multiply %arg0, %arg2 : tensor<4xf32>
    %2 = stablehlo.multiply %1, %arg1 : tensor<4xf32>
    return %2, %0 : tensor<4xf32>, tensor<4xf32>
  }
}
