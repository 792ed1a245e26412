// RUN: ge-opt --constant-regrouping --constant-folding --verify-each %s | filecheck %s

// CHECK-LABEL: @factors
func.func @factors(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK-DAG: %[[SIX:.*]] = ge.constant dense<6.000000e+00> : tensor<f32>
  // CHECK-DAG: ge.mul %x, %[[SIX]]
  // CHECK-DAG: %[[PART:.*]] = ge.constant dense<1.500000e+00> : tensor<f32>
  // CHECK-DAG: ge.mul %x, %[[PART]]
  // CHECK-DAG: %[[FIVE:.*]] = ge.constant dense<5.000000e+00> : tensor<f32>
  // CHECK-DAG: ge.add %x, %[[FIVE]]
  %two = ge.constant dense<2.0> : tensor<f32>
  %three = ge.constant dense<3.0> : tensor<f32>
  %0 = ge.mul %x, %two : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
  %1 = ge.mul %three, %0 : tensor<f32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %2 = ge.div %x, %two : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
  %3 = ge.mul %2, %three : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
  %4 = ge.add %x, %two : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
  %5 = ge.add %4, %three : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
  func.return %1, %3, %5 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// CHECK-LABEL: @reciprocals
func.func @reciprocals(%x: tensor<2x4xf32>, %s: tensor<2x1xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  // CHECK-COUNT-2: ge.div %x, %s
  // CHECK-NEXT:    func.return
  %one = ge.constant dense<1.0> : tensor<f32>
  %0 = ge.div %one, %s : tensor<f32>, tensor<2x1xf32> -> tensor<2x1xf32>
  %1 = ge.mul %x, %0 : tensor<2x4xf32>, tensor<2x1xf32> -> tensor<2x4xf32>
  %2 = ge.reciprocal %s : tensor<2x1xf32> -> tensor<2x1xf32>
  %3 = ge.mul %2, %x : tensor<2x1xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
  func.return %1, %3 : tensor<2x4xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: @a_scaled_sum
func.func @a_scaled_sum(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK-DAG:  %[[C:.*]] = ge.constant dense<2.400000e+01> : tensor<f32>
  // CHECK-DAG:  %[[D:.*]] = ge.constant dense<[8.000000e+00, 1.600000e+01]> : tensor<2xf32>
  // CHECK:      %[[P:.*]] = ge.mul %x, %[[C]]
  // CHECK-NEXT: ge.add %[[P]], %[[D]]
  // CHECK-NEXT: func.return
  %three = ge.constant dense<3.0> : tensor<f32>
  %grid = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %eight = ge.constant dense<8.0> : tensor<f32>
  %0 = ge.mul %x, %three : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  %1 = ge.add %0, %grid : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %2 = ge.mul %1, %eight : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}

// What is added and taken away again would come back; 1e-30 loses what 1e30 would have to keep; 3 is no power of two.
// CHECK-LABEL: @left
func.func @left(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-COUNT-2: ge.add %{{.*}} -> tensor<4xf32>
  // CHECK-COUNT-2: ge.mul %{{.*}} -> tensor<4xf32>
  // CHECK:         ge.mul %{{.*}} -> tensor<4xf32>
  // CHECK-NEXT:    ge.add %{{.*}} -> tensor<4xf32>
  // CHECK-NEXT:    ge.mul %{{.*}} -> tensor<4xf32>
  %big = ge.constant dense<1.0e8> : tensor<f32>
  %minus = ge.constant dense<-1.0e8> : tensor<f32>
  %tiny = ge.constant dense<1.0e-30> : tensor<f32>
  %huge = ge.constant dense<1.0e30> : tensor<f32>
  %three = ge.constant dense<3.0> : tensor<f32>
  %0 = ge.add %x, %big : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %1 = ge.add %0, %minus : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %2 = ge.mul %x, %tiny : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %3 = ge.mul %2, %huge : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %4 = ge.mul %x, %three : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %5 = ge.add %4, %big : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %6 = ge.mul %5, %three : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  func.return %1, %3, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
