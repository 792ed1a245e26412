// RUN: ge-opt --decompose --verify-each %s | filecheck %s
// RUN: ge-opt --decompose --remarks %s -o /dev/null 2>&1 | filecheck %s --check-prefix=REMARK

builtin.module attributes {onnx.opset = {"ai.onnx" = 13 : i64, "com.microsoft" = 1 : i64}} {
  // QuickGelu is in no operator set of ONNX.
  // CHECK-LABEL: @not_onnx
  func.func @not_onnx(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
    // CHECK:       %[[A:.*]] = ge.constant dense<1.702
    // CHECK:       ge.mul %x, %[[A]]
    // CHECK:       ge.sigmoid
    // CHECK:       ge.mul %x, {{.*}} onnx "gelu" ["y"]
    // CHECK-NOT:   ort.
    %y = ort.quick_gelu %x : tensor<?x64xf32> -> tensor<?x64xf32> onnx "gelu" ["y"]
    func.return %y : tensor<?x64xf32>
  }

  // Gelu became ONNX's with opset 20: here it is written as what it is made of.
  // CHECK-LABEL: @too_new
  func.func @too_new(%x: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK:       ge.erf
    // CHECK-NOT:   ge.gelu
    %y = ort.gelu %x : tensor<4xf32> -> tensor<4xf32>
    func.return %y : tensor<4xf32>
  }

  // An operator that the opset has stays one.
  // CHECK-LABEL: @in_the_opset
  func.func @in_the_opset(%a: tensor<4x8xf32>, %b: tensor<6x8xf32>) -> tensor<4x6xf32> {
    // CHECK:       %[[T:.*]] = ge.transpose %b perm [1, 0]
    // CHECK-NEXT:  ge.matmul %a, %[[T]]
    // CHECK-NOT:   ge.mul
    %y = ort.fused_matmul %a, %b transB 1 : tensor<4x8xf32>, tensor<6x8xf32> -> tensor<4x6xf32>
    func.return %y : tensor<4x6xf32>
  }

  // Each result has its own name.
  // CHECK-LABEL: @two_results
  func.func @two_results(%x: tensor<3x8xf32>, %g: tensor<8xf32>) -> (tensor<3x8xf32>, tensor<3x8xf32>) {
    // CHECK:       ge.add %x, %x : {{.*}} onnx ["sum"]
    // CHECK:       ge.mul {{.*}} onnx "norm" ["y"]
    %y, %s = ort.skip_simplified_layer_normalization %x, %x, %g : tensor<3x8xf32>, tensor<3x8xf32>, tensor<8xf32>
             -> tensor<3x8xf32>, none, none, tensor<3x8xf32> onnx "norm" ["y", "sum"]
    func.return %y, %s : tensor<3x8xf32>, tensor<3x8xf32>
  }

  // ONNX has had integers of 16 bits with a scale since opset 21: nothing else says the same.
  // CHECK-LABEL: @cannot_be_said
  func.func @cannot_be_said(%x: tensor<4xui16>, %s: tensor<f32>) -> tensor<4xf32> {
    // CHECK:       ort.dequantize_linear
    %y = ort.dequantize_linear %x, %s : tensor<4xui16>, tensor<f32> -> tensor<4xf32> onnx "wide" ["y"]
    func.return %y : tensor<4xf32>
  }
}
// REMARK: node "wide": ort.dequantize_linear not decomposed: opset 13 has no DequantizeLinear of these types
