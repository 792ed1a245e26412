// RUN: ge-opt --sequence-to-split --verify-each %s | filecheck %s

// CHECK-LABEL: @taken_apart
func.func @taken_apart(%x: tensor<?x7xf32>) -> (tensor<?x2xf32>, tensor<?x3xf32>) {
  // CHECK: %[[A:.*]], %{{.*}}, %[[B:.*]] = ge.split %x, %{{.*}} axis 1
  // CHECK-NEXT: func.return %[[A]], %[[B]]
  %n = ge.constant dense<[2, 2, 3]> : tensor<3xi64>
  %0 = ge.constant dense<0> : tensor<i64>
  %m = ge.constant dense<-1> : tensor<i64>
  %q = ge.opaque "SplitToSequence" version 11 pure (%x, %n) attrs {axis = 1 : i64} : (tensor<?x7xf32>, tensor<3xi64>) -> (!ge.seq<tensor<?x?xf32>>)
  %a = ge.opaque "SequenceAt" version 11 pure (%q, %0) : (!ge.seq<tensor<?x?xf32>>, tensor<i64>) -> (tensor<?x2xf32>)
  %b = ge.opaque "SequenceAt" version 11 pure (%q, %m) : (!ge.seq<tensor<?x?xf32>>, tensor<i64>) -> (tensor<?x3xf32>)
  func.return %a, %b : tensor<?x2xf32>, tensor<?x3xf32>
}

// Its length is asked for as well.
// CHECK-LABEL: @read_otherwise
func.func @read_otherwise(%x: tensor<?x7xf32>) -> (tensor<?x2xf32>, tensor<i64>) {
  // CHECK: SplitToSequence
  %n = ge.constant dense<[2, 5]> : tensor<2xi64>
  %0 = ge.constant dense<0> : tensor<i64>
  %q = ge.opaque "SplitToSequence" version 11 pure (%x, %n) attrs {axis = 1 : i64} : (tensor<?x7xf32>, tensor<2xi64>) -> (!ge.seq<tensor<?x?xf32>>)
  %a = ge.opaque "SequenceAt" version 11 pure (%q, %0) : (!ge.seq<tensor<?x?xf32>>, tensor<i64>) -> (tensor<?x2xf32>)
  %l = ge.opaque "SequenceLength" version 11 pure (%q) : (!ge.seq<tensor<?x?xf32>>) -> (tensor<i64>)
  func.return %a, %l : tensor<?x2xf32>, tensor<i64>
}
