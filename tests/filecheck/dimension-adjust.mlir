// RUN: ge-opt --dimension-adjust --prune --verify-each %s | filecheck %s

// Both free dims stand where they did; 12 and 64 are numbers.
// CHECK-LABEL: @heads
func.func @heads(%x: tensor<?x?x768xf32> {onnx.name = "x", ge.dims = ["N", "S", 768 : i64]}) -> tensor<?x?x12x64xf32> {
  // CHECK-NEXT: %[[S:.*]] = ge.constant dense<[0, 0, 12, 64]> : tensor<4xi64>
  // CHECK-NEXT: ge.reshape %x, %[[S]] : tensor<?x?x768xf32>
  %s = ge.shape %x end 2 : tensor<?x?x768xf32> -> tensor<2xi64>
  %k = ge.constant dense<[12, 64]> : tensor<2xi64>
  %c = ge.concat %s, %k axis 0 : tensor<2xi64>, tensor<2xi64> -> tensor<4xi64>
  %y = ge.reshape %x, %c : tensor<?x?x768xf32>, tensor<4xi64> -> tensor<?x?x12x64xf32>
  func.return %y : tensor<?x?x12x64xf32>
}

// A lone free dim is what is left, for 0 as well: 0 / 32 = 0.
// CHECK-LABEL: @rows
func.func @rows(%x: tensor<?x8x4xf32> {onnx.name = "x", ge.dims = ["N", 8 : i64, 4 : i64]}) -> tensor<8x?x4xf32> {
  // CHECK-NEXT: ge.constant dense<[8, -1, 0]>
  %n = ge.shape %x end 1 : tensor<?x8x4xf32> -> tensor<1xi64>
  %a = ge.constant dense<8> : tensor<1xi64>
  %b = ge.constant dense<4> : tensor<1xi64>
  %c = ge.concat %a, %n, %b axis 0 : tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<3xi64>
  %y = ge.reshape %x, %c : tensor<?x8x4xf32>, tensor<3xi64> -> tensor<8x?x4xf32>
  func.return %y : tensor<8x?x4xf32>
}

// [-1, 0]: for a batch N of 0, nobody could tell what -1 is. The shape stays as it is computed.
// CHECK-LABEL: @swapped
func.func @swapped(%x: tensor<?x?xf32> {onnx.name = "x", ge.dims = ["N", "S"]}) -> tensor<?x?xf32> {
  // CHECK: ge.concat
  // CHECK: ge.reshape %x, %{{.*}} : tensor<?x?xf32>, tensor<2xi64>
  %n = ge.shape %x end 1 : tensor<?x?xf32> -> tensor<1xi64>
  %s = ge.shape %x start 1 : tensor<?x?xf32> -> tensor<1xi64>
  %c = ge.concat %s, %n axis 0 : tensor<1xi64>, tensor<1xi64> -> tensor<2xi64>
  %y = ge.reshape %x, %c : tensor<?x?xf32>, tensor<2xi64> -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}

// The -1 was there before, so such sizes were refused before too.
// CHECK-LABEL: @its_own_rest
func.func @its_own_rest(%x: tensor<?x?x8xf32> {onnx.name = "x", ge.dims = ["N", "S", 8 : i64]}) -> tensor<?x?xf32> {
  // CHECK-NEXT: ge.constant dense<[0, -1]>
  %n = ge.shape %x end 1 : tensor<?x?x8xf32> -> tensor<1xi64>
  %r = ge.constant dense<-1> : tensor<1xi64>
  %c = ge.concat %n, %r axis 0 : tensor<1xi64>, tensor<1xi64> -> tensor<2xi64>
  %y = ge.reshape %x, %c : tensor<?x?x8xf32>, tensor<2xi64> -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}

// 1 leaves the operand's own dim.
// CHECK-LABEL: @expand
func.func @expand(%x: tensor<?x1xf32> {onnx.name = "x", ge.dims = ["N", 1 : i64]}) -> tensor<?x4xf32> {
  // CHECK-NEXT: ge.constant dense<[1, 4]>
  %n = ge.shape %x end 1 : tensor<?x1xf32> -> tensor<1xi64>
  %k = ge.constant dense<4> : tensor<1xi64>
  %c = ge.concat %n, %k axis 0 : tensor<1xi64>, tensor<1xi64> -> tensor<2xi64>
  %y = ge.expand %x, %c : tensor<?x1xf32>, tensor<2xi64> -> tensor<?x4xf32>
  func.return %y : tensor<?x4xf32>
}

// To the end; all but the last one; and all but the last three, which for a size of 2 is no -3: the bound is -1 then.
// CHECK-LABEL: @slices
func.func @slices(%x: tensor<?xf32> {onnx.name = "x", ge.dims = ["N"]}) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  // CHECK: %[[THREE:.*]] = ge.sub
  // CHECK-NEXT: %[[END:.*]] = ge.constant dense<9223372036854775807>
  // CHECK-NEXT: ge.slice %x, %{{.*}}, %[[END]] :
  // CHECK-NEXT: %[[LESS:.*]] = ge.constant dense<-1> : tensor<1xi64>
  // CHECK-NEXT: ge.slice %x, %{{.*}}, %[[LESS]] :
  // CHECK-NEXT: ge.slice %x, %{{.*}}, %[[THREE]] :
  %n = ge.shape %x : tensor<?xf32> -> tensor<1xi64>
  %0 = ge.constant dense<0> : tensor<1xi64>
  %1 = ge.constant dense<1> : tensor<1xi64>
  %3 = ge.constant dense<3> : tensor<1xi64>
  %n1 = ge.sub %n, %1 : tensor<1xi64>, tensor<1xi64> -> tensor<1xi64>
  %n3 = ge.sub %n, %3 : tensor<1xi64>, tensor<1xi64> -> tensor<1xi64>
  %a = ge.slice %x, %1, %n : tensor<?xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<?xf32>
  %b = ge.slice %x, %0, %n1 : tensor<?xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<?xf32>
  %c = ge.slice %x, %0, %n3 : tensor<?xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<?xf32>
  func.return %a, %b, %c : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
