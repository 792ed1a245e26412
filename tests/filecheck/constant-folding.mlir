// RUN: ge-opt --constant-folding --verify-each %s | filecheck %s
// RUN: ge-opt --constant-folding="max-growth=0" %s | filecheck %s --check-prefix=TIGHT
// RUN: ge-opt --constant-folding --remarks %s -o /dev/null 2>&1 | filecheck %s --check-prefix=REMARK

// CHECK-LABEL: @chain
func.func @chain() -> tensor<2xi64> {
  // CHECK-NEXT: %b = ge.constant dense<[1, 3]> : tensor<2xi64> onnx "Sub_1" ["b"]
  // CHECK-NEXT: func.return %b
  %k = ge.constant dense<[1, 2]> : tensor<2xi64>
  %a = ge.add %k, %k : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64> onnx "Add_1" ["a"]
  %one = ge.constant dense<1> : tensor<i64>
  %b = ge.sub %a, %one : tensor<2xi64>, tensor<i64> -> tensor<2xi64> onnx "Sub_1" ["b"]
  func.return %b : tensor<2xi64>
}

// Integers wrap, NaN and infinities are numbers like others.
// CHECK-LABEL: @odd_numbers
func.func @odd_numbers() -> (tensor<i8>, tensor<2xf32>) {
  // CHECK-DAG: ge.constant dense<-126> : tensor<i8>
  // CHECK-DAG: ge.constant #ge.bytes<"0000807F0000C0{{[7F]F}}"> : tensor<2xf32>
  %big = ge.constant dense<127> : tensor<i8>
  %three = ge.constant dense<3> : tensor<i8>
  %0 = ge.add %big, %three : tensor<i8>, tensor<i8> -> tensor<i8>
  %n = ge.constant dense<[1.0, 0.0]> : tensor<2xf32>
  %z = ge.constant dense<0.0> : tensor<f32>
  %1 = ge.div %n, %z : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  func.return %0, %1 : tensor<i8>, tensor<2xf32>
}

// One byte that is repeated stays one: 400 MB of zeros would stand for a shape, and its splat for the same.
// CHECK-LABEL: @growth
func.func @growth() -> (tensor<10000x10000xf32>, tensor<100xi64>) {
  // REMARK:     node "Big": ge.constant_of_shape not folded: 400000000 bytes would stand for 16
  // CHECK:      ge.constant_of_shape
  // CHECK-NEXT: ge.constant #ge.splat<7> : tensor<100xi64>
  // TIGHT-LABEL: @growth
  // TIGHT: ge.constant_of_shape
  // TIGHT: ge.constant_of_shape
  %s = ge.constant dense<[10000, 10000]> : tensor<2xi64>
  %0 = ge.constant_of_shape %s : tensor<2xi64> -> tensor<10000x10000xf32> onnx "Big"
  %n = ge.constant dense<[100]> : tensor<1xi64>
  %1 = ge.constant_of_shape %n value #ge.bytes<"0700000000000000"> : tensor<1xi64> : tensor<1xi64> -> tensor<100xi64> onnx "Small"
  func.return %0, %1 : tensor<10000x10000xf32>, tensor<100xi64>
}

// A constant that something else reads stays for it; several results are several constants.
// CHECK-LABEL: @readers_and_results
func.func @readers_and_results(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<2xf32>) {
  // CHECK-DAG: %k = ge.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
  // CHECK-DAG: ge.constant dense<[1.000000e+00, 2.000000e+00]>
  // CHECK-DAG: ge.constant dense<[3.000000e+00, 4.000000e+00]>
  // CHECK:     ge.add %x, %k
  %k = ge.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0, %1 = ge.split %k : tensor<4xf32> -> tensor<2xf32>, tensor<2xf32>
  %y = ge.add %x, %k : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %y, %0, %1 : tensor<4xf32>, tensor<2xf32>, tensor<2xf32>
}

// In branches too, with what stands around them. What is only known now makes types more precise where it is read.
// CHECK-LABEL: @branches_and_types
// CHECK-SAME:  -> (tensor<1x?xi64>, tensor<1x2xi64>)
func.func @branches_and_types(%c: tensor<i1>) -> (tensor<1x?xi64>, tensor<1x?xi64>) {
  %k = ge.constant dense<[1, 0, 3]> : tensor<3xi64>
  // CHECK:      %y = ge.if
  // CHECK-NEXT:   ge.constant dense<{{\[\[}}0, 2]]> : tensor<1x2xi64>
  // CHECK-NEXT:   ge.yield {{.*}} : tensor<1x2xi64>
  %y = ge.if %c : tensor<i1> -> (tensor<1x?xi64>) {
    %n = ge.opaque "NonZero" version 13 pure (%k) : (tensor<3xi64>) -> (tensor<1x?xi64>)
    ge.yield %n : tensor<1x?xi64>
  } else {
    %m = ge.opaque "NonZero" version 13 pure (%k) : (tensor<3xi64>) -> (tensor<1x?xi64>)
    ge.yield %m : tensor<1x?xi64>
  }
  // CHECK:      %z = ge.fusion "f" (%a = %{{.*}} : tensor<1x2xi64>) -> (tensor<1x2xi64>)
  %o = ge.opaque "NonZero" version 13 pure (%k) : (tensor<3xi64>) -> (tensor<1x?xi64>)
  %z = ge.fusion "f" (%a = %o : tensor<1x?xi64>) -> (tensor<1x?xi64>) {
    ge.yield %a : tensor<1x?xi64>
  }
  func.return %y, %z : tensor<1x?xi64>, tensor<1x?xi64>
}

// Left alone: what is random, what another domain means, what an engine looks for (QDQ), what is inside a fusion.
// CHECK-LABEL: @left_alone
func.func @left_alone() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %k = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s = ge.constant dense<0.5> : tensor<f32>
  %q = ge.constant dense<[1, 2]> : tensor<2xi8>
  // CHECK: ge.opaque "RandomNormalLike"
  %0 = ge.opaque "RandomNormalLike" version 13 (%k) : (tensor<2xf32>) -> (tensor<2xf32>)
  // CHECK: ge.opaque "Swish" domain "acme" version 1 pure
  %1 = ge.opaque "Swish" domain "acme" version 1 pure (%k) : (tensor<2xf32>) -> (tensor<2xf32>)
  // CHECK: ge.dequantize_linear
  %2 = ge.dequantize_linear %q, %s : tensor<2xi8>, tensor<f32> -> tensor<2xf32>
  // CHECK: ge.fusion
  // CHECK-NEXT: ge.exp
  %3 = ge.fusion "f" (%a = %k : tensor<2xf32>) -> (tensor<2xf32>) {
    %4 = ge.exp %a : tensor<2xf32> -> tensor<2xf32>
    ge.yield %4 : tensor<2xf32>
  }
  func.return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// Some evaluations fail: the op stays, with a remark.
// CHECK-LABEL: @what_cannot_be_evaluated
// CHECK: ge.opaque "Reshape"
func.func @what_cannot_be_evaluated() -> tensor<?xf32> {
  %k = ge.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s = ge.constant dense<[3]> : tensor<1xi64>
  // REMARK: node "bad": ge.opaque not folded: 'ge.opaque' cannot be evaluated
  %0 = ge.opaque "Reshape" version 13 pure (%k, %s) : (tensor<2xf32>, tensor<1xi64>) -> (tensor<?xf32>) onnx "bad"
  func.return %0 : tensor<?xf32>
}
