// RUN: ge-opt --conv-batchnorm-fusion --prune --verify-each %s | filecheck %s
// RUN: ge-opt --conv-batchnorm-fusion --remarks %s -o /dev/null 2>&1 | filecheck %s --check-prefix=REMARK

// s = scale / sqrt(var + epsilon) = [1 / sqrt(3 + 1), 4 / sqrt(15 + 1)] = [0.5, 1]
// w' = [2, 4] * s = [1, 4];  b' = ([1, 1] - mean) * s + bias = [(1 - 3) * 0.5 + 2, (1 - 0) * 1 + 0] = [1, 1]
// CHECK-LABEL: @with_bias
func.func @with_bias(%x: tensor<?x1x8x8xf32>) -> tensor<?x2x8x8xf32> {
  // CHECK-NEXT: %[[W:.*]] = ge.constant dense<{{\[\[\[\[}}1.000000e+00]]], {{\[\[\[}}4.000000e+00]]]]> : tensor<2x1x1x1xf32> onnx ["w"]
  // CHECK-NEXT: %[[B:.*]] = ge.constant #ge.splat<1.0> : tensor<2xf32> onnx ["b"]
  // CHECK-NEXT: %{{.*}} = ge.conv %x, %[[W]], %[[B]] : {{.*}} onnx "Conv_1" ["y"]
  // CHECK-NEXT: func.return
  %w = ge.constant dense<[[[[2.0]]], [[[4.0]]]]> : tensor<2x1x1x1xf32> onnx ["w"]
  %b = ge.constant dense<[1.0, 1.0]> : tensor<2xf32> onnx ["b"]
  %scale = ge.constant dense<[1.0, 4.0]> : tensor<2xf32>
  %bias = ge.constant dense<[2.0, 0.0]> : tensor<2xf32>
  %mean = ge.constant dense<[3.0, 0.0]> : tensor<2xf32>
  %var = ge.constant dense<[3.0, 15.0]> : tensor<2xf32>
  %a = ge.conv %x, %w, %b : tensor<?x1x8x8xf32>, tensor<2x1x1x1xf32>, tensor<2xf32> -> tensor<?x2x8x8xf32> onnx "Conv_1" ["a"]
  %y = ge.batch_normalization %a, %scale, %bias, %mean, %var epsilon 1.0 : tensor<?x2x8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32> -> tensor<?x2x8x8xf32> onnx "BN_1" ["y"]
  func.return %y : tensor<?x2x8x8xf32>
}

// Weights that something else reads stay for it; channels are the groups' too.
// CHECK-LABEL: @shared_weights
func.func @shared_weights(%x: tensor<1x2x8x8xf32>) -> (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) {
  // CHECK-DAG: ge.conv %x, %{{.*}}, %{{.*}} group 2
  // CHECK-DAG: ge.conv %x, %w group 2
  // CHECK-NOT: ge.batch_normalization
  %w = ge.constant #ge.splat<1.0> : tensor<2x1x1x1xf32> onnx ["w"]
  %k = ge.constant dense<[1.0, 4.0]> : tensor<2xf32>
  %a = ge.conv %x, %w group 2 : tensor<1x2x8x8xf32>, tensor<2x1x1x1xf32> -> tensor<1x2x8x8xf32>
  %y = ge.batch_normalization %a, %k, %k, %k, %k epsilon 0.0 : tensor<1x2x8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32> -> tensor<1x2x8x8xf32>
  %c = ge.conv %x, %w group 2 : tensor<1x2x8x8xf32>, tensor<2x1x1x1xf32> -> tensor<1x2x8x8xf32>
  func.return %y, %c : tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>
}

// Each for its own reason.
// CHECK-LABEL: @left_alone
// CHECK-COUNT-4: ge.batch_normalization
func.func @left_alone(%x: tensor<1x1x8x8xf32>, %f: tensor<1x1x1x1xf32>, %n: tensor<1x8x8x1xf32>) -> (tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>) {
  %w = ge.constant dense<1.0> : tensor<1x1x1x1xf32>
  %k = ge.constant dense<[1.0]> : tensor<1xf32>
  %minus = ge.constant dense<[-1.0]> : tensor<1xf32>
  %tiny = ge.constant dense<[1.0e-30]> : tensor<1xf32>
  %huge = ge.constant dense<[1.0e+38]> : tensor<1xf32>
  // REMARK: node "two": ge.batch_normalization not folded into the convolution: something else reads what it normalises
  %a = ge.conv %x, %w : tensor<1x1x8x8xf32>, tensor<1x1x1x1xf32> -> tensor<1x1x8x8xf32>
  %y = ge.batch_normalization %a, %k, %k, %k, %k : tensor<1x1x8x8xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32> -> tensor<1x1x8x8xf32> onnx "two"
  // REMARK: node "free": ge.batch_normalization not folded into the convolution: its weights or parameters are no constants
  %b = ge.conv %x, %f : tensor<1x1x8x8xf32>, tensor<1x1x1x1xf32> -> tensor<1x1x8x8xf32>
  %z = ge.batch_normalization %b, %k, %k, %k, %k : tensor<1x1x8x8xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32> -> tensor<1x1x8x8xf32> onnx "free"
  // REMARK: node "negative": ge.batch_normalization not folded into the convolution: a variance is not positive
  %c = ge.conv %x, %w : tensor<1x1x8x8xf32>, tensor<1x1x1x1xf32> -> tensor<1x1x8x8xf32>
  %u = ge.batch_normalization %c, %k, %k, %k, %minus : tensor<1x1x8x8xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32> -> tensor<1x1x8x8xf32> onnx "negative"
  // REMARK: node "large": ge.batch_normalization not folded into the convolution: a weight would leave the range of its type
  %d = ge.conv %x, %w : tensor<1x1x8x8xf32>, tensor<1x1x1x1xf32> -> tensor<1x1x8x8xf32>
  %v = ge.batch_normalization %d, %huge, %k, %k, %tiny epsilon 0.0 : tensor<1x1x8x8xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32> -> tensor<1x1x8x8xf32> onnx "large"
  func.return %a, %y, %z, %u, %v : tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>
}
