// RUN: ge-opt --split-sinking --verify-each %s | filecheck %s

// 4 heads for queries, 2 each for keys and values; keys are wanted in another order.
// CHECK-LABEL: @heads
func.func @heads(%x: tensor<?x5x24xf32>) -> (tensor<?x4x5x3xf32>, tensor<?x2x3x5xf32>, tensor<?x2x5x3xf32>) {
  // CHECK-DAG:  %[[SHAPE:.*]] = ge.constant dense<[0, 5, 8, 3]>
  // CHECK-DAG:  %[[R:.*]] = ge.reshape %x, %[[SHAPE]]
  // CHECK-DAG:  %[[T:.*]] = ge.transpose %[[R]] perm [0, 2, 1, 3]
  // CHECK-DAG:  %[[N:.*]] = ge.constant dense<[4, 2, 2]>
  // CHECK:      %[[Q:.*]], %[[K:.*]], %[[V:.*]] = ge.split %[[T]], %[[N]] axis 1
  // CHECK-NEXT: %[[KT:.*]] = ge.transpose %[[K]] perm [0, 1, 3, 2]
  // CHECK-NEXT: func.return %[[Q]], %[[KT]], %[[V]]
  %n = ge.constant dense<[12, 6, 6]> : tensor<3xi64>
  %s = ge.constant dense<[0, 5, 4, 3]> : tensor<4xi64>
  %u = ge.constant dense<[0, 5, -1, 3]> : tensor<4xi64>
  %q, %k, %v = ge.split %x, %n axis -1 : tensor<?x5x24xf32>, tensor<3xi64> -> tensor<?x5x12xf32>, tensor<?x5x6xf32>, tensor<?x5x6xf32>
  %0 = ge.reshape %q, %s : tensor<?x5x12xf32>, tensor<4xi64> -> tensor<?x5x4x3xf32>
  %1 = ge.reshape %k, %u : tensor<?x5x6xf32>, tensor<4xi64> -> tensor<?x5x2x3xf32>
  %2 = ge.reshape %v, %u : tensor<?x5x6xf32>, tensor<4xi64> -> tensor<?x5x2x3xf32>
  %3 = ge.transpose %0 perm [0, 2, 1, 3] : tensor<?x5x4x3xf32> -> tensor<?x4x5x3xf32>
  %4 = ge.transpose %1 perm [0, 2, 3, 1] : tensor<?x5x2x3xf32> -> tensor<?x2x3x5xf32>
  %5 = ge.transpose %2 perm [0, 2, 1, 3] : tensor<?x5x2x3xf32> -> tensor<?x2x5x3xf32>
  func.return %3, %4, %5 : tensor<?x4x5x3xf32>, tensor<?x2x3x5xf32>, tensor<?x2x5x3xf32>
}

// The heads differ in size, or another axis is cut, or a part has another reader.
// CHECK-LABEL: @left
func.func @left(%x: tensor<4x12xf32>) -> (tensor<4x2x3xf32>, tensor<4x3x2xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<12x2xf32>, tensor<12x2xf32>, tensor<2x12xf32>) {
  // CHECK:      ge.split %x axis 1
  // CHECK-NEXT: ge.reshape
  // CHECK-NEXT: ge.reshape
  // CHECK-NEXT: ge.split %x :
  // CHECK-NEXT: ge.reshape
  // CHECK-NEXT: ge.reshape
  // CHECK-NEXT: ge.split %x :
  // CHECK-NEXT: ge.transpose
  // CHECK-NEXT: ge.transpose
  %s = ge.constant dense<[4, 2, 3]> : tensor<3xi64>
  %t = ge.constant dense<[4, 3, 2]> : tensor<3xi64>
  %u = ge.constant dense<[1, 2, 12]> : tensor<3xi64>
  %a, %b = ge.split %x axis 1 : tensor<4x12xf32> -> tensor<4x6xf32>, tensor<4x6xf32>
  %0 = ge.reshape %a, %s : tensor<4x6xf32>, tensor<3xi64> -> tensor<4x2x3xf32>
  %1 = ge.reshape %b, %t : tensor<4x6xf32>, tensor<3xi64> -> tensor<4x3x2xf32>
  %c, %d = ge.split %x axis 0 : tensor<4x12xf32> -> tensor<2x12xf32>, tensor<2x12xf32>
  %2 = ge.reshape %c, %u : tensor<2x12xf32>, tensor<3xi64> -> tensor<1x2x12xf32>
  %3 = ge.reshape %d, %u : tensor<2x12xf32>, tensor<3xi64> -> tensor<1x2x12xf32>
  %e, %f = ge.split %x axis 0 : tensor<4x12xf32> -> tensor<2x12xf32>, tensor<2x12xf32>
  %4 = ge.transpose %e perm [1, 0] : tensor<2x12xf32> -> tensor<12x2xf32>
  %5 = ge.transpose %f perm [1, 0] : tensor<2x12xf32> -> tensor<12x2xf32>
  func.return %0, %1, %2, %3, %4, %5, %e : tensor<4x2x3xf32>, tensor<4x3x2xf32>, tensor<1x2x12xf32>, tensor<1x2x12xf32>, tensor<12x2xf32>, tensor<12x2xf32>, tensor<2x12xf32>
}
