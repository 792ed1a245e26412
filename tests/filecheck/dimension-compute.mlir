// RUN: ge-opt --dimension-compute --prune --verify-each %s | filecheck %s

// Known although other dims are free.
// CHECK-LABEL: @one_dim
func.func @one_dim(%x: tensor<?x3x8xf32>) -> tensor<i64> {
  // CHECK-NEXT: %d = ge.constant dense<8> : tensor<i64> onnx "Gather_1" ["d"]
  // CHECK-NEXT: func.return %d
  %s = ge.shape %x : tensor<?x3x8xf32> -> tensor<3xi64>
  %two = ge.constant dense<2> : tensor<i64>
  %d = ge.gather %s, %two : tensor<3xi64>, tensor<i64> -> tensor<i64> onnx "Gather_1" ["d"]
  func.return %d : tensor<i64>
}

// Symbols cancel.
// CHECK-LABEL: @symbols_cancel
func.func @symbols_cancel(%x: tensor<?x6xf32> {ge.dims = ["N", 6]}, %y: tensor<?xf32> {ge.dims = ["N"]}) -> tensor<1xi64> {
  // CHECK-NEXT: ge.constant dense<6>
  // CHECK-NEXT: func.return
  %n = ge.size %x : tensor<?x6xf32> -> tensor<i64>
  %m = ge.shape %y : tensor<?xf32> -> tensor<1xi64>
  %q = ge.div %n, %m : tensor<i64>, tensor<1xi64> -> tensor<1xi64>
  func.return %q : tensor<1xi64>
}

// Each result by itself: of two, one is known; and all its readers read the constant.
// CHECK-LABEL: @several_results_and_uses
func.func @several_results_and_uses(%x: tensor<?x3xf32>) -> (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xf32>) {
  // CHECK-DAG: %[[S:.*]] = ge.shape %x
  // CHECK-DAG: %[[N:.*]], %{{.*}} = ge.split %[[S]]
  // CHECK-DAG: %[[THREE:.*]] = ge.constant dense<3>
  // CHECK-DAG: ge.cast %[[THREE]]
  // CHECK: func.return %[[N]], %[[THREE]], %[[THREE]]
  %s = ge.shape %x : tensor<?x3xf32> -> tensor<2xi64>
  %0, %1 = ge.split %s : tensor<2xi64> -> tensor<1xi64>, tensor<1xi64>
  %f = ge.cast %1 to f32 : tensor<1xi64> -> tensor<1xf32>
  func.return %0, %1, %1, %f : tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xf32>
}

// In a fusion and in a branch; a more precise type goes where the value goes.
// CHECK-LABEL: @bodies
// CHECK-SAME:  -> (tensor<2xi64>, tensor<?xi64>)
func.func @bodies(%x: tensor<?x3x8xf32>, %c: tensor<i1>) -> (tensor<?xi64>, tensor<?xi64>) {
  // CHECK: ge.fusion "f" () -> (tensor<2xi64>)
  // CHECK-NEXT: ge.constant dense<[-3, -8]> : tensor<2xi64>
  %s = ge.shape %x start 1 : tensor<?x3x8xf32> -> tensor<?xi64>
  %y = ge.fusion "f" (%a = %s : tensor<?xi64>) -> (tensor<?xi64>) {
    %0 = ge.neg %a : tensor<?xi64> -> tensor<?xi64>
    ge.yield %0 : tensor<?xi64>
  }
  // CHECK: ge.if
  // CHECK-NEXT: ge.constant dense<[9, 64]> : tensor<2xi64>
  %z = ge.if %c : tensor<i1> -> (tensor<?xi64>) {
    %1 = ge.mul %s, %s : tensor<?xi64>, tensor<?xi64> -> tensor<?xi64>
    ge.yield %1 : tensor<?xi64>
  } else {
    ge.yield %s : tensor<?xi64>
  }
  func.return %y, %z : tensor<?xi64>, tensor<?xi64>
}

// Left alone: what depends on a free dim, floats, what is not pure.
// CHECK-LABEL: @left_alone
func.func @left_alone(%x: tensor<?x4xf32>) -> (tensor<2xi64>, tensor<1xf32>, tensor<2xi64>) {
  // CHECK: ge.shape
  // CHECK: ge.cast
  // CHECK: ge.opaque
  %s = ge.shape %x : tensor<?x4xf32> -> tensor<2xi64>
  %t = ge.shape %x start 1 : tensor<?x4xf32> -> tensor<1xi64>
  %f = ge.cast %t to f32 : tensor<1xi64> -> tensor<1xf32>
  %o = ge.opaque "Print" domain "acme" version 1 (%t) : (tensor<1xi64>) -> (tensor<2xi64>)
  func.return %s, %f, %o : tensor<2xi64>, tensor<1xf32>, tensor<2xi64>
}

// What the type of a branch's result says is known although neither branch says it.
// CHECK-LABEL: @the_type_says_it
func.func @the_type_says_it(%c: tensor<i1>, %x: tensor<?xf32> {ge.dims = ["N"]}) -> tensor<1xi64> {
  // CHECK: ge.constant dense<4>
  %0 = ge.if %c : tensor<i1> -> (tensor<4xf32>) {
    ge.yield %x : tensor<?xf32>
  } else {
    ge.yield %x : tensor<?xf32>
  }
  %s = ge.shape %0 : tensor<4xf32> -> tensor<1xi64>
  func.return %s : tensor<1xi64>
}
