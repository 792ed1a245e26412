// RUN: ge-opt --drop-out --verify-each %s | filecheck %s

// CHECK-LABEL: @inference
func.func @inference(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK: func.return %x, %x, %x, %x
  %half = ge.constant dense<0.5> : tensor<f32>
  %zero = ge.constant dense<0.0> : tensor<f32>
  %true = ge.constant dense<true> : tensor<i1>
  %false = ge.constant dense<false> : tensor<i1>
  %0 = ge.dropout %x, %half : tensor<?x4xf32>, tensor<f32> -> tensor<?x4xf32>
  %1, %mask1 = ge.opaque "Dropout" version 13 (%x, %half, %false) : (tensor<?x4xf32>, tensor<f32>, tensor<i1>) -> (tensor<?x4xf32>, tensor<?x4xi1>)
  %2, %mask2 = ge.opaque "Dropout" version 13 (%x, %zero, %true) : (tensor<?x4xf32>, tensor<f32>, tensor<i1>) -> (tensor<?x4xf32>, tensor<?x4xi1>)
  %3, %mask3 = ge.opaque "Dropout" version 7 (%x) : (tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  func.return %0, %1, %2, %3 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// CHECK-LABEL: @a_mask_is_all_true
func.func @a_mask_is_all_true(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>) {
  // CHECK-NEXT: %[[MASK:.*]] = ge.constant #ge.splat<1> : tensor<4xi1>
  // CHECK-NEXT: func.return %x, %[[MASK]]
  %0, %mask = ge.opaque "Dropout" version 13 (%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>)
  func.return %0, %mask : tensor<4xf32>, tensor<4xi1>
}

// One trains, one may, of one the mask has free dims, one trains by default.
// CHECK-LABEL: @left
func.func @left(%x: tensor<?xf32>, %train: tensor<i1>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xi1>, tensor<?xf32>) {
  // CHECK-COUNT-4: ge.opaque
  %half = ge.constant dense<0.5> : tensor<f32>
  %true = ge.constant dense<true> : tensor<i1>
  %0 = ge.opaque "Dropout" version 13 (%x, %half, %true) : (tensor<?xf32>, tensor<f32>, tensor<i1>) -> (tensor<?xf32>)
  %1 = ge.opaque "Dropout" version 13 (%x, none, %train) : (tensor<?xf32>, tensor<i1>) -> (tensor<?xf32>)
  %2, %mask = ge.opaque "Dropout" version 13 (%x) : (tensor<?xf32>) -> (tensor<?xf32>, tensor<?xi1>)
  %3, %mask3 = ge.opaque "Dropout" version 6 (%x) : (tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>)
  func.return %0, %1, %mask, %3 : tensor<?xf32>, tensor<?xf32>, tensor<?xi1>, tensor<?xf32>
}
