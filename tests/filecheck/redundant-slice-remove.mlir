// RUN: ge-opt --redundant-slice-remove --verify-each %s | filecheck %s

// CHECK-LABEL: @all
func.func @all(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: func.return %x
  %0 = ge.constant dense<0> : tensor<1xi64>
  %e = ge.constant dense<9223372036854775807> : tensor<1xi64>
  %y = ge.slice %x, %0, %e : tensor<?x8xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<?x8xf32>
  func.return %y : tensor<?x8xf32>
}

// As many elements, in reverse.
// CHECK-LABEL: @reversed
func.func @reversed(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: ge.slice
  %s = ge.constant dense<-1> : tensor<1xi64>
  %e = ge.constant dense<-9> : tensor<1xi64>
  %0 = ge.constant dense<0> : tensor<1xi64>
  %y = ge.slice %x, %s, %e, %0, %s : tensor<8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}
