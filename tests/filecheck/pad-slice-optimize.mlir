// RUN: ge-opt --pad-slice-optimize --prune --verify-each %s | filecheck %s

// CHECK-LABEL: @nothing
func.func @nothing(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: func.return %x
  %p = ge.constant #ge.splat<0> : tensor<4xi64>
  %y = ge.pad %x, %p mode "reflect" : tensor<?x8xf32>, tensor<4xi64> -> tensor<?x8xf32>
  func.return %y : tensor<?x8xf32>
}

// [0, 1 | 0, 2] and [0, 1 | 0, 0]: [0, 2 | 0, 2].
// CHECK-LABEL: @pads
func.func @pads(%x: tensor<?x8xf32>) -> tensor<?x12xf32> {
  // CHECK-NEXT: %[[P:.*]] = ge.constant dense<[0, 2, 0, 2]>
  // CHECK-NEXT: ge.pad %x, %[[P]]
  %p = ge.constant dense<[0, 1, 0, 2]> : tensor<4xi64>
  %q = ge.constant dense<[0, 1, 0, 0]> : tensor<4xi64>
  %a = ge.pad %x, %p : tensor<?x8xf32>, tensor<4xi64> -> tensor<?x11xf32>
  %b = ge.pad %a, %q : tensor<?x11xf32>, tensor<4xi64> -> tensor<?x12xf32>
  func.return %b : tensor<?x12xf32>
}

// CHECK-LABEL: @cut_off_again
func.func @cut_off_again(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x9xf32>) {
  // CHECK: %[[P:.*]] = ge.constant dense<[0, 0, 0, 1]>
  // CHECK: %[[Y:.*]] = ge.pad %x, %[[P]]
  // CHECK: func.return %x, %[[Y]]
  %p = ge.constant dense<[0, 1, 0, 2]> : tensor<4xi64>
  %1 = ge.constant dense<1> : tensor<1xi64>
  %m2 = ge.constant dense<-2> : tensor<1xi64>
  %m1 = ge.constant dense<-1> : tensor<1xi64>
  %a = ge.pad %x, %p : tensor<?x8xf32>, tensor<4xi64> -> tensor<?x11xf32>
  %y = ge.slice %a, %1, %m2, %1 : tensor<?x11xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<?x8xf32>
  %b = ge.pad %x, %p : tensor<?x8xf32>, tensor<4xi64> -> tensor<?x11xf32>
  %z = ge.slice %b, %1, %m1, %1 : tensor<?x11xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<?x9xf32>
  func.return %y, %z : tensor<?x8xf32>, tensor<?x9xf32>
}

// Into the operand, and pads with two fills.
// CHECK-LABEL: @left_alone
func.func @left_alone(%x: tensor<8xf32>) -> (tensor<6xf32>, tensor<12xf32>) {
  // CHECK: ge.pad
  // CHECK: ge.slice
  // CHECK: ge.pad
  // CHECK: ge.pad
  %p = ge.constant dense<[1, 1]> : tensor<2xi64>
  %2 = ge.constant dense<2> : tensor<1xi64>
  %8 = ge.constant dense<8> : tensor<1xi64>
  %f = ge.constant dense<1.5> : tensor<f32>
  %a = ge.pad %x, %p : tensor<8xf32>, tensor<2xi64> -> tensor<10xf32>
  %y = ge.slice %a, %2, %8 : tensor<10xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<6xf32>
  %b = ge.pad %x, %p : tensor<8xf32>, tensor<2xi64> -> tensor<10xf32>
  %z = ge.pad %b, %p, %f : tensor<10xf32>, tensor<2xi64>, tensor<f32> -> tensor<12xf32>
  func.return %y, %z : tensor<6xf32>, tensor<12xf32>
}
