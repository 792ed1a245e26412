// RUN: ge-opt --activation-fusion --verify-each %s | filecheck %s

builtin.module attributes {onnx.opset = {"ai.onnx" = 20 : i64}} {
  // CHECK-LABEL: @gelu
  func.func @gelu(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    // CHECK-NEXT: ge.gelu %x : {{.*}} onnx "last" ["y"]
    // CHECK-NEXT: func.return
    %root = ge.constant dense<1.41421354> : tensor<f32>
    %one = ge.constant dense<1.0> : tensor<f32>
    %half = ge.constant dense<0.5> : tensor<1x1xf32>
    %0 = ge.div %x, %root : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
    %1 = ge.erf %0 : tensor<?x4xf32> -> tensor<?x4xf32>
    %2 = ge.add %1, %one : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
    %3 = ge.mul %x, %2 : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
    %4 = ge.mul %half, %3 : tensor<1x1xf32>, tensor<?x4xf32> -> tensor<?x4xf32> onnx "last" ["y"]
    func.return %4 : tensor<?x4xf32>
  }

  // What stands before it stays, though it is a function of one element too; so does a clip of another value.
  // CHECK-LABEL: @hard_swish_of_a_sum
  func.func @hard_swish_of_a_sum(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    // CHECK:      %[[SUM:.*]] = ge.add %x, %three
    // CHECK-NEXT: ge.hard_swish %[[SUM]]
    // CHECK-NEXT: %[[CLIP:.*]] = ge.clip %[[SUM]]
    // CHECK-NEXT: ge.mul %x, %[[CLIP]]
    %three = ge.constant dense<3.0> : tensor<f32>
    %six = ge.constant dense<6.0> : tensor<f32>
    %zero = ge.constant dense<0.0> : tensor<f32>
    %0 = ge.add %x, %three : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
    %1 = ge.add %0, %three : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
    %2 = ge.clip %1, %zero, %six : tensor<4xf32>, tensor<f32>, tensor<f32> -> tensor<4xf32>
    %3 = ge.div %2, %six : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
    %4 = ge.mul %3, %0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %5 = ge.clip %0, %zero, %six : tensor<4xf32>, tensor<f32>, tensor<f32> -> tensor<4xf32>
    %6 = ge.mul %x, %5 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    func.return %4, %6 : tensor<4xf32>, tensor<4xf32>
  }
}
