// RUN: ge-opt --precision --verify-each %s | filecheck %s
// RUN: ge-opt --precision="mode=allow_mix_precision" --verify-each %s | filecheck %s --check-prefix=MIX
// RUN: ge-opt --precision="mode=allow_fp32_to_fp16" --verify-each %s | filecheck %s --check-prefix=VECTOR
// RUN: ge-opt --precision="mode=force_fp32" --verify-each %s | filecheck %s --check-prefix=WIDE
// RUN: ge-opt --precision="interface" --verify-each %s | filecheck %s --check-prefix=OUTER
// RUN: ge-opt --precision="keep-types=Softmax keep-nodes=second" --verify-each %s | filecheck %s --check-prefix=KEEP

builtin.module attributes {onnx.opset = {"ai.onnx" = 17 : i64}} {
  // One cast of %x for two readers, one of the result; the softmax stays where it would lose.
  // CHECK-LABEL: @two_readers
  // MIX-LABEL: @two_readers
  // VECTOR-LABEL: @two_readers
  // OUTER-LABEL: @two_readers(%x: tensor<2x4xf16>
  // KEEP-LABEL: @two_readers
  func.func @two_readers(%x: tensor<2x4xf32> {onnx.name = "x"}) -> tensor<2x4xf32> {
    // CHECK-NEXT: %[[X:.*]] = ge.cast %x to f16 : {{.*}} onnx "x_to_f16"
    // CHECK-NEXT: %[[W:.*]] = ge.constant {{.*}} : tensor<4x4xf16> onnx ["w"]
    // CHECK-NEXT: %[[A:.*]] = ge.matmul %[[X]], %[[W]] : tensor<2x4xf16>, tensor<4x4xf16>
    // CHECK-NEXT: %[[B:.*]] = ge.matmul %[[X]], %[[W]]
    // CHECK-NEXT: %[[S:.*]] = ge.softmax %[[A]] : tensor<2x4xf16>
    // CHECK-NEXT: %[[Y:.*]] = ge.add %[[S]], %[[B]]
    // CHECK-NEXT: %[[OUT:.*]] = ge.cast %[[Y]] to f32 : {{.*}} onnx "y_to_f32"
    // CHECK-NEXT: func.return %[[OUT]] : tensor<2x4xf32>

    // MIX:      %[[A:.*]] = ge.matmul
    // MIX-NEXT: %[[W:.*]] = ge.cast %[[A]] to f32
    // MIX:      %[[S:.*]] = ge.softmax %[[W]] : tensor<2x4xf32>
    // MIX-NEXT: %[[H:.*]] = ge.cast %[[S]] to f16
    // MIX-NEXT: ge.add %[[H]], {{.*}} : tensor<2x4xf16>

    // VECTOR:     ge.matmul {{.*}} : tensor<2x4xf16>
    // VECTOR:     ge.softmax {{.*}} : tensor<2x4xf32>
    // VECTOR-NOT: ge.cast
    // VECTOR:     ge.add {{.*}} : tensor<2x4xf32>

    // OUTER-NOT: ge.cast
    // OUTER: func.return {{.*}} : tensor<2x4xf16>

    // KEEP: ge.matmul {{.*}} : tensor<2x4xf16>
    // KEEP: ge.matmul {{.*}} : tensor<2x4xf32>{{.*}}"second"
    // KEEP: ge.softmax {{.*}} : tensor<2x4xf32>
    %w = ge.constant #ge.splat<0.5> : tensor<4x4xf32> onnx ["w"]
    %a = ge.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32> onnx "first" ["a"]
    %b = ge.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32> onnx "second" ["b"]
    %s = ge.softmax %a : tensor<2x4xf32> -> tensor<2x4xf32> onnx "softmax" ["s"]
    %y = ge.add %s, %b : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32> onnx "last" ["y"]
    func.return %y : tensor<2x4xf32>
  }

  // The source's own casts are ours: none comes on top, and what they undo is not done.
  // CHECK-LABEL: @casts_of_the_source
  // WIDE-LABEL: @casts_of_the_source
  func.func @casts_of_the_source(%x: tensor<4xf16>) -> tensor<4xf16> {
    // CHECK-NEXT: %[[A:.*]] = ge.relu %x : tensor<4xf16>
    // CHECK-NEXT: %[[B:.*]] = ge.neg %[[A]] : tensor<4xf16>
    // CHECK-NEXT: func.return %[[B]]

    // WIDE-NEXT: %[[X:.*]] = ge.cast %x to f32
    // WIDE-NEXT: %[[A:.*]] = ge.relu %[[X]] : tensor<4xf32>
    // WIDE-NEXT: %[[B:.*]] = ge.neg %[[A]] : tensor<4xf32>
    // WIDE-NEXT: %[[C:.*]] = ge.cast %[[B]] to f16
    // WIDE-NEXT: func.return %[[C]]
    %0 = ge.cast %x to f32 : tensor<4xf16> -> tensor<4xf32>
    %1 = ge.relu %0 : tensor<4xf32> -> tensor<4xf32>
    %2 = ge.cast %1 to f16 : tensor<4xf32> -> tensor<4xf16>
    %3 = ge.neg %2 : tensor<4xf16> -> tensor<4xf16>
    func.return %3 : tensor<4xf16>
  }

  // A finite number beyond the range becomes the largest, an infinity stays, a lone small one does not vanish.
  // CHECK-LABEL: @constants
  func.func @constants(%x: tensor<3xf32>) -> tensor<3xf32> {
    // CHECK-DAG: ge.constant dense<[-6.550400e+04, 6.550400e+04, 1.000000e+00]> : tensor<3xf16>
    // CHECK-DAG: ge.constant #ge.bytes<"00FC"> : tensor<f16>
    // CHECK-DAG: ge.constant dense<5.960460e-08> : tensor<f16>
    %far = ge.constant dense<[-3.0e38, 1.0e6, 1.0]> : tensor<3xf32>
    %inf = ge.constant #ge.bytes<"000080FF"> : tensor<f32>
    %eps = ge.constant dense<1.0e-12> : tensor<f32>
    %0 = ge.add %x, %far : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
    %1 = ge.max %0, %inf : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
    %2 = ge.add %1, %eps : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
    func.return %2 : tensor<3xf32>
  }

  // Sizes, and angles of positions, stay: f16 counts to 2048.
  // CHECK-LABEL: @positions
  func.func @positions(%x: tensor<1x4x?xf32>, %n: tensor<?xi64>) -> tensor<1x4x?xf32> {
    // CHECK:      ge.cast %n to f32
    // CHECK-NEXT: ge.mul {{.*}} : tensor<?xf32>
    // CHECK-NEXT: %[[COS:.*]] = ge.cos {{.*}} : tensor<?xf32>
    // CHECK-NEXT: %[[H:.*]] = ge.cast %[[COS]] to f16
    // CHECK-NEXT: ge.mul {{.*}}, %[[H]] : tensor<1x4x?xf16>
    %f = ge.constant dense<0.01> : tensor<f32>
    %0 = ge.cast %n to f32 : tensor<?xi64> -> tensor<?xf32>
    %1 = ge.mul %0, %f : tensor<?xf32>, tensor<f32> -> tensor<?xf32>
    %2 = ge.cos %1 : tensor<?xf32> -> tensor<?xf32>
    %3 = ge.mul %x, %2 : tensor<1x4x?xf32>, tensor<?xf32> -> tensor<1x4x?xf32>
    func.return %3 : tensor<1x4x?xf32>
  }

  // What is quantised stays, with what reads it; so do opaque ops. Casts stand around.
  // CHECK-LABEL: @barriers
  func.func @barriers(%x: tensor<4xf32>, %q: tensor<4xi8>) -> tensor<4xf32> {
    // CHECK: ge.relu {{.*}} : tensor<4xf16> -> tensor<4xf16>
    // CHECK-NEXT: %[[A:.*]] = ge.cast {{.*}} to f32
    // CHECK-NEXT: ge.opaque "Fancy" {{.*}}(%[[A]]) : (tensor<4xf32>) -> (tensor<4xf32>)
    // CHECK: ge.dequantize_linear {{.*}} -> tensor<4xf32>
    // CHECK-NEXT: ge.add {{.*}} : tensor<4xf32>, tensor<4xf32>
    %s = ge.constant dense<0.5> : tensor<f32>
    %0 = ge.relu %x : tensor<4xf32> -> tensor<4xf32>
    %1 = ge.opaque "Fancy" domain "acme" version 1 (%0) : (tensor<4xf32>) -> (tensor<4xf32>)
    %2 = ge.dequantize_linear %q, %s : tensor<4xi8>, tensor<f32> -> tensor<4xf32>
    %3 = ge.add %1, %2 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    func.return %3 : tensor<4xf32>
  }

  // Bodies are converted too, and give what they gave; an outer value is cast where it is made, once.
  // CHECK-LABEL: @bodies
  func.func @bodies(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
    // CHECK-NEXT: %[[X:.*]] = ge.cast %x to f16
    // CHECK-NEXT: %[[R:.*]] = ge.relu %[[X]]
    // CHECK-NEXT: %[[W:.*]] = ge.cast %[[R]] to f32
    // CHECK-NEXT: ge.if
    // CHECK-NEXT:   %[[A:.*]] = ge.neg %[[R]] : tensor<4xf16>
    // CHECK-NEXT:   %[[B:.*]] = ge.cast %[[A]] to f32
    // CHECK-NEXT:   ge.yield %[[B]]
    // CHECK-NEXT: } else {
    // CHECK-NEXT:   ge.yield %[[W]]
    %0 = ge.relu %x : tensor<4xf32> -> tensor<4xf32>
    %1 = ge.if %c : tensor<i1> -> (tensor<4xf32>) {
      %2 = ge.neg %0 : tensor<4xf32> -> tensor<4xf32>
      ge.yield %2 : tensor<4xf32>
    } else {
      ge.yield %0 : tensor<4xf32>
    }
    func.return %1 : tensor<4xf32>
  }
}
