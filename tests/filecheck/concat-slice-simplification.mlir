// RUN: ge-opt --concat-slice-simplification --prune --verify-each %s | filecheck %s

// CHECK-LABEL: @joins
func.func @joins(%a: tensor<?x2xf32>, %b: tensor<?x0xf32>, %c: tensor<?x3xf32>) -> (tensor<?x7xf32>, tensor<?x2xf32>) {
  // CHECK-NEXT: %[[J:.*]] = ge.concat %a, %a, %c axis 1
  // CHECK-NEXT: func.return %[[J]], %a
  %1 = ge.concat %a, %b, %c axis 1 : tensor<?x2xf32>, tensor<?x0xf32>, tensor<?x3xf32> -> tensor<?x5xf32>
  %2 = ge.concat %a, %1 axis 1 : tensor<?x2xf32>, tensor<?x5xf32> -> tensor<?x7xf32>
  %3 = ge.concat %a axis 1 : tensor<?x2xf32> -> tensor<?x2xf32>
  func.return %2, %3 : tensor<?x7xf32>, tensor<?x2xf32>
}

// CHECK-LABEL: @parts_of_a_join
func.func @parts_of_a_join(%a: tensor<?x2xf32>, %b: tensor<?x3xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x3xf32>) {
  // CHECK: %[[P:.*]] = ge.slice %b
  // CHECK: func.return %[[P]], %a, %b
  %1 = ge.constant dense<1> : tensor<1xi64>
  %3 = ge.constant dense<3> : tensor<1xi64>
  %5 = ge.constant dense<5> : tensor<1xi64>
  %n = ge.constant dense<[2, 3]> : tensor<2xi64>
  %j = ge.concat %a, %b axis 1 : tensor<?x2xf32>, tensor<?x3xf32> -> tensor<?x5xf32>
  %p = ge.slice %j, %3, %5, %1 : tensor<?x5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<?x2xf32>
  %x, %y = ge.split %j, %n axis 1 : tensor<?x5xf32>, tensor<2xi64> -> tensor<?x2xf32>, tensor<?x3xf32>
  func.return %p, %x, %y : tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x3xf32>
}

// CHECK-LABEL: @joins_of_parts
func.func @joins_of_parts(%x: tensor<?x5xf32>) -> (tensor<?x5xf32>, tensor<?x3xf32>) {
  // CHECK-DAG: %[[S:.*]] = ge.constant dense<1> : tensor<1xi64>
  // CHECK-DAG: %[[E:.*]] = ge.constant dense<4> : tensor<1xi64>
  // CHECK: %[[P:.*]] = ge.slice %x, %[[S]], %[[E]]
  // CHECK-NEXT: func.return %x, %[[P]]
  %n = ge.constant dense<[2, 3]> : tensor<2xi64>
  %a, %b = ge.split %x, %n axis 1 : tensor<?x5xf32>, tensor<2xi64> -> tensor<?x2xf32>, tensor<?x3xf32>
  %j = ge.concat %a, %b axis 1 : tensor<?x2xf32>, tensor<?x3xf32> -> tensor<?x5xf32>
  %1 = ge.constant dense<1> : tensor<1xi64>
  %2 = ge.constant dense<2> : tensor<1xi64>
  %4 = ge.constant dense<4> : tensor<1xi64>
  %p = ge.slice %x, %1, %2, %1 : tensor<?x5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<?x1xf32>
  %q = ge.slice %x, %2, %4, %1 : tensor<?x5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<?x2xf32>
  %k = ge.concat %p, %q axis 1 : tensor<?x1xf32>, tensor<?x2xf32> -> tensor<?x3xf32>
  func.return %j, %k : tensor<?x5xf32>, tensor<?x3xf32>
}

// A part over the seam, a join that something else reads, parts in another order: nothing to gain.
// CHECK-LABEL: @left_alone
func.func @left_alone(%a: tensor<2xf32>, %b: tensor<3xf32>) -> (tensor<2xf32>, tensor<7xf32>, tensor<5xf32>) {
  // CHECK: ge.concat %a, %b axis 0
  // CHECK: ge.slice
  // CHECK: ge.concat %a, %{{.*}} axis 0 : tensor<2xf32>, tensor<5xf32>
  // CHECK: ge.split
  // CHECK: ge.concat
  %1 = ge.constant dense<1> : tensor<1xi64>
  %3 = ge.constant dense<3> : tensor<1xi64>
  %n = ge.constant dense<[3, 2]> : tensor<2xi64>
  %j = ge.concat %a, %b axis 0 : tensor<2xf32>, tensor<3xf32> -> tensor<5xf32>
  %p = ge.slice %j, %1, %3 : tensor<5xf32>, tensor<1xi64>, tensor<1xi64> -> tensor<2xf32>
  %k = ge.concat %a, %j axis 0 : tensor<2xf32>, tensor<5xf32> -> tensor<7xf32>
  %x, %y = ge.split %j, %n : tensor<5xf32>, tensor<2xi64> -> tensor<3xf32>, tensor<2xf32>
  %z = ge.concat %y, %x axis 0 : tensor<2xf32>, tensor<3xf32> -> tensor<5xf32>
  func.return %p, %k, %z : tensor<2xf32>, tensor<7xf32>, tensor<5xf32>
}
