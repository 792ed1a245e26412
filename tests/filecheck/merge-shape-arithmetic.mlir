// RUN: ge-opt --merge-shape-arithmetic --prune --verify-each %s | filecheck %s

// Nine ops for [N, S]: one. That %h has %x's dims is known, so %h's own are not asked for.
// CHECK-LABEL: @one_run
func.func @one_run(%x: tensor<?x?x8xf32> {onnx.name = "x", ge.dims = ["N", "S", 8 : i64]}) -> (tensor<2xi64>, tensor<?x?x8xf32>) {
  // CHECK-NEXT: %[[S:.*]] = ge.shape %x end 2 : tensor<?x?x8xf32> -> tensor<2xi64>
  // CHECK-NEXT: %[[H:.*]] = ge.exp %x
  // CHECK-NEXT: func.return %[[S]], %[[H]]
  %zero = ge.constant dense<0> : tensor<1xi64>
  %0 = ge.constant dense<0> : tensor<i64>
  %1 = ge.constant dense<1> : tensor<i64>
  %h = ge.exp %x : tensor<?x?x8xf32> -> tensor<?x?x8xf32>
  %a = ge.shape %h : tensor<?x?x8xf32> -> tensor<3xi64>
  %n = ge.gather %a, %0 : tensor<3xi64>, tensor<i64> -> tensor<i64>
  %b = ge.shape %x : tensor<?x?x8xf32> -> tensor<3xi64>
  %s = ge.gather %b, %1 : tensor<3xi64>, tensor<i64> -> tensor<i64>
  %nv = ge.unsqueeze %n, %zero : tensor<i64>, tensor<1xi64> -> tensor<1xi64>
  %sv = ge.unsqueeze %s, %zero : tensor<i64>, tensor<1xi64> -> tensor<1xi64>
  %c = ge.concat %nv, %sv axis 0 : tensor<1xi64>, tensor<1xi64> -> tensor<2xi64>
  func.return %c, %h : tensor<2xi64>, tensor<?x?x8xf32>
}

// -1 becomes 1 where the shape says -1; no dim is -1, so the comparison is forgotten.
// CHECK-LABEL: @minus_one
func.func @minus_one(%x: tensor<?x8xf32> {onnx.name = "x", ge.dims = ["N", 8 : i64]}, %y: tensor<1x4xf32>) -> tensor<?x4xf32> {
  // CHECK-NEXT: %[[N:.*]] = ge.shape %x end 1
  // CHECK-NEXT: %[[ONE:.*]] = ge.constant dense<1> : tensor<1xi64>
  // CHECK-NEXT: %[[S:.*]] = ge.concat %[[N]], %[[ONE]] axis 0
  // CHECK-NEXT: ge.expand %y, %[[S]]
  %n = ge.shape %x end 1 : tensor<?x8xf32> -> tensor<1xi64>
  %r = ge.constant dense<-1> : tensor<1xi64>
  %c = ge.concat %n, %r axis 0 : tensor<1xi64>, tensor<1xi64> -> tensor<2xi64>
  %ones = ge.constant #ge.splat<1> : tensor<2xi64>
  %minus = ge.constant #ge.splat<-1> : tensor<2xi64>
  %e = ge.equal %c, %minus : tensor<2xi64>, tensor<2xi64> -> tensor<2xi1>
  %w = ge.where %e, %ones, %c : tensor<2xi1>, tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
  %z = ge.expand %y, %w : tensor<1x4xf32>, tensor<2xi64> -> tensor<?x4xf32>
  func.return %z : tensor<?x4xf32>
}

// As few as can be: left alone.
// CHECK-LABEL: @few
func.func @few(%x: tensor<?x?xf32> {onnx.name = "x", ge.dims = ["N", "S"]}) -> tensor<i64> {
  // CHECK-NEXT: ge.constant dense<1>
  // CHECK-NEXT: ge.shape %x :
  // CHECK-NEXT: ge.gather
  // CHECK-NEXT: func.return
  %1 = ge.constant dense<1> : tensor<i64>
  %a = ge.shape %x : tensor<?x?xf32> -> tensor<2xi64>
  %s = ge.gather %a, %1 : tensor<2xi64>, tensor<i64> -> tensor<i64>
  func.return %s : tensor<i64>
}

// What data says is no shape arithmetic, whatever is done with it.
// CHECK-LABEL: @data
func.func @data(%x: tensor<2xi64>) -> tensor<2xi64> {
  // CHECK-NEXT: ge.add %x, %x
  // CHECK-NEXT: ge.mul
  %a = ge.add %x, %x : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
  %b = ge.mul %a, %a : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
  func.return %b : tensor<2xi64>
}

// What is made anew may say more of its type than what it stands for, and so does the function then.
// CHECK-LABEL: @known_length
// CHECK-SAME: -> tensor<1xi64>
func.func @known_length(%x: tensor<?x?xf32>) -> tensor<?xi64> {
  // CHECK: ge.shape %x end 1
  %s = ge.shape %x : tensor<?x?xf32> -> tensor<2xi64>
  %b = ge.constant dense<0> : tensor<1xi64>
  %e = ge.constant dense<1> : tensor<1xi64>
  %a = ge.slice %s, %b, %e : tensor<2xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<?xi64>
  %n = ge.shape %a : tensor<?xi64> -> tensor<1xi64>
  %z = ge.expand %b, %n : tensor<1xi64>, tensor<1xi64> -> tensor<?xi64>
  %y = ge.add %a, %z : tensor<?xi64>, tensor<?xi64> -> tensor<?xi64>
  func.return %y : tensor<?xi64>
}
