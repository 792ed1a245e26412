// RUN: ge-opt --gather-forward-fusion --prune --verify-each %s | filecheck %s

// CHECK-LABEL: @gathers
func.func @gathers(%x: tensor<?x16xf32>) -> tensor<?x2xf32> {
  // CHECK-NEXT: %[[I:.*]] = ge.constant dense<[-7, 4]>
  // CHECK-NEXT: ge.gather %x, %[[I]] axis 1
  %i = ge.constant dense<[4, 7, -7]> : tensor<3xi64>
  %j = ge.constant dense<[2, 0]> : tensor<2xi64>
  %a = ge.gather %x, %i axis 1 : tensor<?x16xf32>, tensor<3xi64> -> tensor<?x3xf32>
  %b = ge.gather %a, %j axis 1 : tensor<?x3xf32>, tensor<2xi64> -> tensor<?x2xf32>
  func.return %b : tensor<?x2xf32>
}
// CHECK-LABEL: @of_a_join
func.func @of_a_join(%a: tensor<?x3xf32>, %b: tensor<?x4xf32>) -> tensor<?xf32> {
  // CHECK-NEXT: %[[I:.*]] = ge.constant dense<2>
  // CHECK-NEXT: ge.gather %b, %[[I]] axis 1
  %i = ge.constant dense<5> : tensor<i64>
  %j = ge.concat %a, %b axis 1 : tensor<?x3xf32>, tensor<?x4xf32> -> tensor<?x7xf32>
  %y = ge.gather %j, %i axis 1 : tensor<?x7xf32>, tensor<i64> -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}

// What it comes to may be all there is.
// CHECK-LABEL: @all_of_a_part
func.func @all_of_a_part(%a: tensor<1xf32>, %b: tensor<4xf32>) -> tensor<f32> {
  // CHECK-NOT: ge.gather
  // CHECK: ge.reshape %a
  %i = ge.constant dense<0> : tensor<i64>
  %j = ge.concat %a, %b axis 0 : tensor<1xf32>, tensor<4xf32> -> tensor<5xf32>
  %y = ge.gather %j, %i : tensor<5xf32>, tensor<i64> -> tensor<f32>
  func.return %y : tensor<f32>
}

// CHECK-LABEL: @all
func.func @all(%x: tensor<?x4xf32>, %y: tensor<1x3xf32>) -> (tensor<?x2x2xf32>, tensor<3xf32>) {
  // CHECK-NOT: ge.gather
  // CHECK: %[[A:.*]] = ge.reshape %x
  // CHECK: %[[B:.*]] = ge.reshape %y
  // CHECK: func.return %[[A]], %[[B]]
  %i = ge.constant dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  %j = ge.constant dense<[[0, 0], [0, 1], [0, 2]]> : tensor<3x2xi64>
  %a = ge.gather %x, %i axis 1 : tensor<?x4xf32>, tensor<2x2xi64> -> tensor<?x2x2xf32>
  %b = ge.gather_nd %y, %j : tensor<1x3xf32>, tensor<3x2xi64> -> tensor<3xf32>
  func.return %a, %b : tensor<?x2x2xf32>, tensor<3xf32>
}

// Over the seam, in another order, out of range.
// CHECK-LABEL: @left_alone
func.func @left_alone(%a: tensor<3xf32>, %b: tensor<4xf32>) -> (tensor<2xf32>, tensor<3xf32>, tensor<f32>) {
  // CHECK: ge.gather %{{.*}} : tensor<7xf32>, tensor<2xi64>
  // CHECK: ge.gather %a
  // CHECK: ge.gather %{{.*}} : tensor<7xf32>, tensor<i64>
  %i = ge.constant dense<[2, 3]> : tensor<2xi64>
  %r = ge.constant dense<[2, 1, 0]> : tensor<3xi64>
  %o = ge.constant dense<9> : tensor<i64>
  %j = ge.concat %a, %b axis 0 : tensor<3xf32>, tensor<4xf32> -> tensor<7xf32>
  %x = ge.gather %j, %i : tensor<7xf32>, tensor<2xi64> -> tensor<2xf32>
  %y = ge.gather %a, %r : tensor<3xf32>, tensor<3xi64> -> tensor<3xf32>
  %z = ge.gather %j, %o : tensor<7xf32>, tensor<i64> -> tensor<f32>
  func.return %x, %y, %z : tensor<2xf32>, tensor<3xf32>, tensor<f32>
}
