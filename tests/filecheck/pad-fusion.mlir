// RUN: ge-opt --pad-fusion --verify-each %s | filecheck %s
// RUN: ge-opt --pad-fusion --remarks %s 2>&1 >/dev/null | filecheck %s --check-prefix=REMARKS

// The window's own pads are added to.
// CHECK-LABEL: @zeros_before_a_convolution
func.func @zeros_before_a_convolution(%x: tensor<?x1x4x4xf32>, %w: tensor<1x1x2x2xf32>) -> tensor<?x1x6x7xf32> {
  // CHECK-NOT:  ge.pad
  // CHECK:      ge.conv %x, %w pads [1, 3, 2, 1]
  %pads = ge.constant dense<[1, 2, 2, 1]> : tensor<4xi64>
  %axes = ge.constant dense<[2, -1]> : tensor<2xi64>
  %0 = ge.pad %x, %pads, none, %axes : tensor<?x1x4x4xf32>, tensor<4xi64>, tensor<2xi64> -> tensor<?x1x7x7xf32>
  %1 = ge.conv %0, %w pads [0, 1, 0, 0] : tensor<?x1x7x7xf32>, tensor<1x1x2x2xf32> -> tensor<?x1x6x7xf32>
  func.return %1 : tensor<?x1x6x7xf32>
}

// CHECK-LABEL: @before_pooling
func.func @before_pooling(%x: tensor<1x1x4xf32>) -> (tensor<1x1x5xf32>, tensor<1x1x5xf32>, tensor<1x1x5xf32>) {
  // CHECK-DAG: ge.average_pool %x pads [1, 1] kernel_shape [2] count_include_pad 1
  // CHECK-DAG: ge.max_pool %x pads [1, 1] kernel_shape [2]
  // CHECK-DAG: %[[R:.*]] = ge.relu %x
  // CHECK-DAG: ge.max_pool %[[R]] pads [1, 1] kernel_shape [2]
  // CHECK-NOT: ge.pad
  %pads = ge.constant dense<[0, 0, 1, 0, 0, 1]> : tensor<6xi64>
  %low = ge.constant #ge.bytes<"000080FF"> : tensor<f32>
  %0 = ge.pad %x, %pads : tensor<1x1x4xf32>, tensor<6xi64> -> tensor<1x1x6xf32>
  %1 = ge.average_pool %0 kernel_shape [2] : tensor<1x1x6xf32> -> tensor<1x1x5xf32>
  %2 = ge.pad %x, %pads, %low : tensor<1x1x4xf32>, tensor<6xi64>, tensor<f32> -> tensor<1x1x6xf32>
  %3 = ge.max_pool %2 kernel_shape [2] : tensor<1x1x6xf32> -> tensor<1x1x5xf32>
  %4 = ge.relu %x : tensor<1x1x4xf32> -> tensor<1x1x4xf32>
  %5 = ge.pad %4, %pads : tensor<1x1x4xf32>, tensor<6xi64> -> tensor<1x1x6xf32>
  %6 = ge.max_pool %5 kernel_shape [2] : tensor<1x1x6xf32> -> tensor<1x1x5xf32>
  func.return %1, %3, %6 : tensor<1x1x5xf32>, tensor<1x1x5xf32>, tensor<1x1x5xf32>
}

// Ones; zeros that can be the maximum; an average that has padding that does not count; more channels; a smaller image.
// CHECK-LABEL: @left
// REMARKS: node "ones": ge.conv keeps its Pad: what is added is no zero
// REMARKS: node "zeros": ge.max_pool keeps its Pad: what is added can be a maximum, or is as wide as the window
// REMARKS: node "counted": ge.average_pool keeps its Pad: its own padding does not count
func.func @left(%x: tensor<1x1x4xf32>, %w: tensor<1x1x2xf32>, %v: tensor<1x2x2xf32>) -> (tensor<1x1x5xf32>, tensor<1x1x5xf32>, tensor<1x1x7xf32>, tensor<1x1x3xf32>, tensor<1x1x1xf32>) {
  // CHECK-COUNT-5: ge.pad
  %pads = ge.constant dense<[0, 0, 1, 0, 0, 1]> : tensor<6xi64>
  %channel = ge.constant dense<[0, 0, 0, 0, 1, 0]> : tensor<6xi64>
  %crop = ge.constant dense<[0, 0, -1, 0, 0, -1]> : tensor<6xi64>
  %one = ge.constant dense<1.0> : tensor<f32>
  %0 = ge.pad %x, %pads, %one : tensor<1x1x4xf32>, tensor<6xi64>, tensor<f32> -> tensor<1x1x6xf32>
  %1 = ge.conv %0, %w : tensor<1x1x6xf32>, tensor<1x1x2xf32> -> tensor<1x1x5xf32> onnx "ones"
  %2 = ge.pad %x, %pads : tensor<1x1x4xf32>, tensor<6xi64> -> tensor<1x1x6xf32>
  %3 = ge.max_pool %2 kernel_shape [2] : tensor<1x1x6xf32> -> tensor<1x1x5xf32> onnx "zeros"
  %4 = ge.pad %x, %pads : tensor<1x1x4xf32>, tensor<6xi64> -> tensor<1x1x6xf32>
  %5 = ge.average_pool %4 kernel_shape [4] pads [2, 2] : tensor<1x1x6xf32> -> tensor<1x1x7xf32> onnx "counted"
  %6 = ge.pad %x, %channel : tensor<1x1x4xf32>, tensor<6xi64> -> tensor<1x2x4xf32>
  %7 = ge.conv %6, %v : tensor<1x2x4xf32>, tensor<1x2x2xf32> -> tensor<1x1x3xf32>
  %8 = ge.pad %x, %crop : tensor<1x1x4xf32>, tensor<6xi64> -> tensor<1x1x2xf32>
  %9 = ge.conv %8, %w : tensor<1x1x2xf32>, tensor<1x1x2xf32> -> tensor<1x1x1xf32>
  func.return %1, %3, %5, %7, %9 : tensor<1x1x5xf32>, tensor<1x1x5xf32>, tensor<1x1x7xf32>, tensor<1x1x3xf32>, tensor<1x1x1xf32>
}
