// RUN: ge-opt --rms-norm-fusion --verify-each %s | filecheck %s
// RUN: ge-opt --rms-norm-fusion --remarks %s 2>&1 >/dev/null | filecheck %s --check-prefix=REMARKS

builtin.module attributes {onnx.opset = {"ai.onnx" = 23 : i64}} {
  // CHECK-LABEL: @as_exporters_write_it
  func.func @as_exporters_write_it(%x: tensor<?x2x4xf32>, %s: tensor<4xf32>) -> tensor<?x2x4xf32> {
    // CHECK:      ge.rms_normalization %x, %s epsilon 0.001 : {{.*}} onnx "last" ["y"]
    // CHECK-NEXT: func.return
    %axes = ge.constant dense<-1> : tensor<1xi64>
    %one = ge.constant dense<1.0> : tensor<f32>
    %two = ge.constant dense<2.0> : tensor<f32>
    %eps = ge.constant dense<1.0e-3> : tensor<f32>
    %0 = ge.pow %x, %two : tensor<?x2x4xf32>, tensor<f32> -> tensor<?x2x4xf32>
    %1 = ge.reduce_mean %0, %axes : tensor<?x2x4xf32>, tensor<1xi64> -> tensor<?x2x1xf32>
    %2 = ge.add %1, %eps : tensor<?x2x1xf32>, tensor<f32> -> tensor<?x2x1xf32>
    %3 = ge.sqrt %2 : tensor<?x2x1xf32> -> tensor<?x2x1xf32>
    %4 = ge.reciprocal %3 : tensor<?x2x1xf32> -> tensor<?x2x1xf32>
    %5 = ge.mul %x, %4 : tensor<?x2x4xf32>, tensor<?x2x1xf32> -> tensor<?x2x4xf32>
    %6 = ge.mul %s, %5 : tensor<4xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32> onnx "last" ["y"]
    func.return %6 : tensor<?x2x4xf32>
  }

  // One column becomes four under this scale: the normalised value has another shape than the result.
  // CHECK-LABEL: @a_scale_that_broadcasts
  // REMARKS: node "wide": ge.mul no RMSNormalization: the scale has other dims than what is normalised
  func.func @a_scale_that_broadcasts(%x: tensor<3x1xf32>, %s: tensor<4xf32>) -> tensor<3x4xf32> {
    // CHECK-NOT: ge.rms_normalization
    %axes = ge.constant dense<-1> : tensor<1xi64>
    %0 = ge.mul %x, %x : tensor<3x1xf32>, tensor<3x1xf32> -> tensor<3x1xf32>
    %1 = ge.reduce_mean %0, %axes : tensor<3x1xf32>, tensor<1xi64> -> tensor<3x1xf32>
    %2 = ge.sqrt %1 : tensor<3x1xf32> -> tensor<3x1xf32>
    %3 = ge.div %x, %2 : tensor<3x1xf32>, tensor<3x1xf32> -> tensor<3x1xf32>
    %4 = ge.mul %3, %s : tensor<3x1xf32>, tensor<4xf32> -> tensor<3x4xf32> onnx "wide"
    func.return %4 : tensor<3x4xf32>
  }
}
