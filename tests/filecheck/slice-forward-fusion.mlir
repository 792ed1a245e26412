// RUN: ge-opt --slice-forward-fusion --prune --verify-each %s | filecheck %s

// CHECK-LABEL: @two_axes
func.func @two_axes(%x: tensor<?x16xf32>) -> tensor<?x3xf32> {
  // CHECK-DAG: %[[S:.*]] = ge.constant dense<[1, 4]>
  // CHECK-DAG: %[[E:.*]] = ge.constant dense<[9, 7]>
  // CHECK-DAG: %[[A:.*]] = ge.constant dense<[0, 1]>
  // CHECK: ge.slice %x, %[[S]], %[[E]], %[[A]] : tensor<?x16xf32>
  %0 = ge.constant dense<0> : tensor<1xi64>
  %1 = ge.constant dense<1> : tensor<1xi64>
  %4 = ge.constant dense<4> : tensor<1xi64>
  %7 = ge.constant dense<7> : tensor<1xi64>
  %9 = ge.constant dense<9> : tensor<1xi64>
  %a = ge.slice %x, %1, %9, %0 : tensor<?x16xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<?x16xf32>
  %b = ge.slice %a, %4, %7, %1 : tensor<?x16xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<?x3xf32>
  func.return %b : tensor<?x3xf32>
}

// One axis of a known dim, one of them in reverse: [2, 3, .. 8] backwards is 8, 7, 6.
// CHECK-LABEL: @one_axis
func.func @one_axis(%x: tensor<16xf32>) -> tensor<3xf32> {
  // CHECK-DAG: %[[S:.*]] = ge.constant dense<8>
  // CHECK-DAG: %[[E:.*]] = ge.constant dense<5>
  // CHECK: ge.slice %x, %[[S]], %[[E]]
  %0 = ge.constant dense<0> : tensor<1xi64>
  %m = ge.constant dense<-1> : tensor<1xi64>
  %2 = ge.constant dense<2> : tensor<1xi64>
  %3 = ge.constant dense<3> : tensor<1xi64>
  %9 = ge.constant dense<9> : tensor<1xi64>
  %a = ge.slice %x, %2, %9 : tensor<16xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<7xf32>
  %b = ge.slice %a, %m, %3, %0, %m : tensor<7xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<3xf32>
  func.return %b : tensor<3xf32>
}

// The last 3 of what is left of a free dim: where that begins depends on the dim.
// CHECK-LABEL: @from_the_end
func.func @from_the_end(%x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: ge.slice
  // CHECK: ge.slice
  %2 = ge.constant dense<2> : tensor<1xi64>
  %9 = ge.constant dense<9> : tensor<1xi64>
  %m = ge.constant dense<-3> : tensor<1xi64>
  %a = ge.slice %x, %2, %9 : tensor<?xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<?xf32>
  %b = ge.slice %a, %m, %9 : tensor<?xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<?xf32>
  func.return %b : tensor<?xf32>
}
