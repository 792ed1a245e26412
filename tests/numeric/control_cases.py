"""Conditionals and loops for tests of bufferization: what is carried, stacked, captured, nested."""

CASES = {
    "carried_in_place": """
func.func @main(%m: tensor<i64> {onnx.name = "m"}, %x: tensor<2x4xf32> {onnx.name = "x"}) ->
    (tensor<2x4xf32> {onnx.name = "y"}) {
  %h = ge.constant dense<0.5> : tensor<f32>
  %v = ge.exp %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %r = ge.loop %m, none, %v : tensor<i64>, tensor<2x4xf32> -> tensor<2x4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<2x4xf32>):
    %b = ge.mul %a, %h : tensor<2x4xf32>, tensor<f32> -> tensor<2x4xf32>
    %c = ge.tanh %b : tensor<2x4xf32> -> tensor<2x4xf32>
    ge.yield %go, %c : tensor<i1>, tensor<2x4xf32>
  }
  func.return %r : tensor<2x4xf32>
}""",
    "two_buffers": """
func.func @main(%m: tensor<i64> {onnx.name = "m"}, %x: tensor<4x4xf32> {onnx.name = "x"}) ->
    (tensor<4x4xf32> {onnx.name = "y"}, tensor<4x4xf32> {onnx.name = "z"}) {
  %r = ge.loop %m, none, %x : tensor<i64>, tensor<4x4xf32> -> tensor<4x4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<4x4xf32>):
    %b = ge.softmax %a : tensor<4x4xf32> -> tensor<4x4xf32>
    %c = ge.matmul %b, %a : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %go, %c : tensor<i1>, tensor<4x4xf32>
  }
  %z = ge.exp %r : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %r, %z : tensor<4x4xf32>, tensor<4x4xf32>
}""",
    "swapped": """
func.func @main(%m: tensor<1xi64> {onnx.name = "m"}, %x: tensor<4xf32> {onnx.name = "x"}, %u: tensor<4xf32>
    {onnx.name = "u"}) -> (tensor<4xf32> {onnx.name = "y"}, tensor<4xf32> {onnx.name = "z"},
    tensor<4xf32> {onnx.name = "w"}, tensor<4xf32> {onnx.name = "k"}) {
  %y, %z, %w, %k = ge.loop %m, none, %x, %u, %x, %x : tensor<1xi64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
      tensor<4xf32> -> tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>):
    %e = ge.exp %c : tensor<4xf32> -> tensor<4xf32>
    %n = ge.neg %e : tensor<4xf32> -> tensor<4xf32>
    ge.yield %go, %b, %a, %n, %n : tensor<i1>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %z, %w, %k : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}""",
    "ends_by_itself": """
func.func @main(%c: tensor<i1> {onnx.name = "c"}, %x: tensor<4xf32> {onnx.name = "x"}) ->
    (tensor<4xf32> {onnx.name = "y"}, tensor<i64> {onnx.name = "n"}) {
  %most = ge.constant dense<100.0> : tensor<f32>
  %two = ge.constant dense<2.0> : tensor<f32>
  %zero = ge.constant dense<0> : tensor<i64>
  %y, %n = ge.loop none, %c, %x, %zero : tensor<i1>, tensor<4xf32>, tensor<i64> -> tensor<4xf32>, tensor<i64> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<4xf32>, %s: tensor<i64>):
    %b = ge.mul %a, %two : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
    %t = ge.add %s, %i : tensor<i64>, tensor<i64> -> tensor<i64>
    %p = ge.abs %b : tensor<4xf32> -> tensor<4xf32>
    %q = ge.reduce_max %p keepdims 0 : tensor<4xf32> -> tensor<f32>
    %l = ge.less %q, %most : tensor<f32>, tensor<f32> -> tensor<i1>
    %o = ge.and %l, %go : tensor<i1>, tensor<i1> -> tensor<i1>
    ge.yield %o, %b, %t : tensor<i1>, tensor<4xf32>, tensor<i64>
  }
  func.return %y, %n : tensor<4xf32>, tensor<i64>
}""",
    "stacked": """
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<4xf32> {onnx.name = "y"},
    tensor<3x4xf32> {onnx.name = "s"}, tensor<3x4xf32> {onnx.name = "o"}, tensor<3x2x2xf32> {onnx.name = "v"}) {
  %m = ge.constant dense<3> : tensor<i64>
  %s = ge.constant dense<[2, 2]> : tensor<2xi64>
  %y, %t, %o, %v, %none = ge.loop %m, none, %x : tensor<i64>, tensor<4xf32> ->
      tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x2x2xf32>, tensor<3xi64> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<4xf32>):
    %b = ge.exp %a : tensor<4xf32> -> tensor<4xf32>
    %c = ge.softmax %b : tensor<4xf32> -> tensor<4xf32>
    %d = ge.sigmoid %b : tensor<4xf32> -> tensor<4xf32>
    %e = ge.reshape %d, %s : tensor<4xf32>, tensor<2xi64> -> tensor<2x2xf32>
    ge.yield %go, %c, %a, %b, %e, %i :
        tensor<i1>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<i64>
  }
  func.return %y, %t, %o, %v : tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x2x2xf32>
}""",
    "captured_twice_over": """
func.func @main(%c: tensor<i1> {onnx.name = "c"}, %m: tensor<i64> {onnx.name = "m"}, %x: tensor<2x4xf32>
    {onnx.name = "x"}) -> (tensor<2x4xf32> {onnx.name = "y"}) {
  %w = ge.constant #ge.splat<0.25> : tensor<2x4xf32>
  %s = ge.constant dense<[4, 2]> : tensor<2xi64>
  %t = ge.constant dense<[2, 4]> : tensor<2xi64>
  %p = ge.exp %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %q = ge.sigmoid %p : tensor<2x4xf32> -> tensor<2x4xf32>
  %r = ge.loop %m, none, %x : tensor<i64>, tensor<2x4xf32> -> tensor<2x4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<2x4xf32>):
    %k = ge.relu %a : tensor<2x4xf32> -> tensor<2x4xf32>
    %b = ge.if %c : tensor<i1> -> (tensor<2x4xf32>) {
      %0 = ge.add %k, %q : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
      %1 = ge.mul %0, %w : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
      ge.yield %1 : tensor<2x4xf32>
    } else {
      %0 = ge.loop %m, none, %k : tensor<i64>, tensor<2x4xf32> -> tensor<2x4xf32> {
      ^bb0(%j: tensor<i64>, %g: tensor<i1>, %d: tensor<2x4xf32>):
        %1 = ge.add %d, %q : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
        %2 = ge.reshape %1, %s : tensor<2x4xf32>, tensor<2xi64> -> tensor<4x2xf32>
        %3 = ge.softmax %2 axis 0 : tensor<4x2xf32> -> tensor<4x2xf32>
        %4 = ge.reshape %3, %t : tensor<4x2xf32>, tensor<2xi64> -> tensor<2x4xf32>
        ge.yield %g, %4 : tensor<i1>, tensor<2x4xf32>
      }
      ge.yield %0 : tensor<2x4xf32>
    }
    %e = ge.sub %b, %k : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    ge.yield %go, %e : tensor<i1>, tensor<2x4xf32>
  }
  %y = ge.sub %r, %q : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}""",
    "nothing_changes": """
func.func @main(%m: tensor<i64> {onnx.name = "m"}, %x: tensor<4xf32> {onnx.name = "x"}) ->
    (tensor<4xf32> {onnx.name = "y"}, tensor<4xf32> {onnx.name = "z"}, tensor<4xf32> {onnx.name = "w"}) {
  %k = ge.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %v = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
  %r, %s, %t = ge.loop %m, none, %v, %v, %k : tensor<i64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> ->
      tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    ge.yield %go, %a, %v, %k : tensor<i1>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %r, %s, %t : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}""",
    "parts_and_joins_inside": """
func.func @main(%m: tensor<i64> {onnx.name = "m"}, %x: tensor<2x8xf32> {onnx.name = "x"}) ->
    (tensor<2x8xf32> {onnx.name = "y"}) {
  %s = ge.constant dense<[8]> : tensor<1xi64>
  %p = ge.exp %x : tensor<2x8xf32> -> tensor<2x8xf32>
  %l, %h = ge.split %p axis 0 : tensor<2x8xf32> -> tensor<1x8xf32>, tensor<1x8xf32>
  %r = ge.loop %m, none, %p : tensor<i64>, tensor<2x8xf32> -> tensor<2x8xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<2x8xf32>):
    %b, %c = ge.split %a axis 1 : tensor<2x8xf32> -> tensor<2x4xf32>, tensor<2x4xf32>
    %d = ge.tanh %b : tensor<2x4xf32> -> tensor<2x4xf32>
    %e = ge.add %c, %d : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    %f = ge.concat %e, %d axis 1 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x8xf32>
    %n = ge.reshape %l, %s : tensor<1x8xf32>, tensor<1xi64> -> tensor<8xf32>
    %o = ge.add %f, %n : tensor<2x8xf32>, tensor<8xf32> -> tensor<2x8xf32>
    %q = ge.add %o, %h : tensor<2x8xf32>, tensor<1x8xf32> -> tensor<2x8xf32>
    ge.yield %go, %q : tensor<i1>, tensor<2x8xf32>
  }
  func.return %r : tensor<2x8xf32>
}""",
    "branches_share": """
func.func @main(%c: tensor<1xi1> {onnx.name = "c"}, %x: tensor<4x4xf32> {onnx.name = "x"}) ->
    (tensor<4x4xf32> {onnx.name = "y"}, tensor<4x4xf32> {onnx.name = "z"}) {
  %p = ge.exp %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %y, %z, %unread = ge.if %c : tensor<1xi1> -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
    %0 = ge.matmul %p, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %1 = ge.matmul %0, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %2 = ge.matmul %1, %0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %2, %2, %1 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  } else {
    %0 = ge.matmul %x, %p : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %1 = ge.softmax %0 : tensor<4x4xf32> -> tensor<4x4xf32>
    ge.yield %p, %1, %0 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
  %k = ge.relu %y : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %k, %z : tensor<4x4xf32>, tensor<4x4xf32>
}""",
    "scanned": """
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}, %u: tensor<3x4xf32> {onnx.name = "u"},
    %v: tensor<2x2x3xf32> {onnx.name = "v"}) -> (tensor<4xf32> {onnx.name = "y"},
    tensor<3x4xf32> {onnx.name = "s"}, tensor<4x3xf32> {onnx.name = "t"}) {
  %f = ge.constant dense<[4]> : tensor<1xi64>
  %p = ge.exp %v : tensor<2x2x3xf32> -> tensor<2x2x3xf32>
  %y, %s, %t = ge.scan %x, %u, %p num_scan_inputs 2 scan_input_axes [0, -1] scan_input_directions [0, 1]
      scan_output_axes [0, 1] scan_output_directions [1, 0] :
      tensor<4xf32>, tensor<3x4xf32>, tensor<2x2x3xf32> -> tensor<4xf32>, tensor<3x4xf32>, tensor<4x3xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<2x2xf32>):
    %d = ge.reshape %c, %f : tensor<2x2xf32>, tensor<1xi64> -> tensor<4xf32>
    %e = ge.add %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %g = ge.mul %e, %d : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %h = ge.tanh %g : tensor<4xf32> -> tensor<4xf32>
    ge.yield %h, %e, %h : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %s, %t : tensor<4xf32>, tensor<3x4xf32>, tensor<4x3xf32>
}""",
    "a_part_in_pieces_seen_in_a_row": """
func.func @main(%c: tensor<i1> {onnx.name = "c"}, %m: tensor<i64> {onnx.name = "m"}, %x: tensor<4x8xf32>
    {onnx.name = "x"}) -> (tensor<16x1xf32> {onnx.name = "y"}, tensor<4x4xf32> {onnx.name = "z"}) {
  %s = ge.constant dense<[16, 1]> : tensor<2xi64>
  %t = ge.constant dense<[4, 4]> : tensor<2xi64>
  %d = ge.exp %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %p, %q = ge.split %d axis 1 : tensor<4x8xf32> -> tensor<4x4xf32>, tensor<4x4xf32>
  %r = ge.relu %p : tensor<4x4xf32> -> tensor<4x4xf32>
  %y = ge.if %c : tensor<i1> -> (tensor<16x1xf32>) {
    %v = ge.reshape %r, %s : tensor<4x4xf32>, tensor<2xi64> -> tensor<16x1xf32>
    %w = ge.neg %v : tensor<16x1xf32> -> tensor<16x1xf32>
    ge.yield %w : tensor<16x1xf32>
  } else {
    %v = ge.reshape %r, %s : tensor<4x4xf32>, tensor<2xi64> -> tensor<16x1xf32>
    ge.yield %v : tensor<16x1xf32>
  }
  %f = ge.tanh %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %h, %j = ge.split %f axis 1 : tensor<4x8xf32> -> tensor<4x4xf32>, tensor<4x4xf32>
  %k = ge.loop %m, none, %h : tensor<i64>, tensor<4x4xf32> -> tensor<4x4xf32> {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<4x4xf32>):
    %v = ge.reshape %a, %s : tensor<4x4xf32>, tensor<2xi64> -> tensor<16x1xf32>
    %w = ge.neg %v : tensor<16x1xf32> -> tensor<16x1xf32>
    %u = ge.reshape %w, %t : tensor<16x1xf32>, tensor<2xi64> -> tensor<4x4xf32>
    ge.yield %go, %u : tensor<i1>, tensor<4x4xf32>
  }
  %z = ge.sigmoid %k : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %y, %z : tensor<16x1xf32>, tensor<4x4xf32>
}""",
    "on_the_host_inside": """
func.func @main(%c: tensor<i1> {onnx.name = "c"}, %x: tensor<4xf32> {onnx.name = "x"}) ->
    (tensor<f32> {onnx.name = "y"}) {
  %a = ge.exp %x : tensor<4xf32> -> tensor<4xf32>
  %y = ge.if %c : tensor<i1> -> (tensor<f32>) {
    %n = ge.opaque "NonZero" version 13 pure (%a) : (tensor<4xf32>) -> (tensor<1x?xi64>)
    %g = ge.gather %a, %n : tensor<4xf32>, tensor<1x?xi64> -> tensor<1x?xf32>
    %s = ge.reduce_sum %g keepdims 0 : tensor<1x?xf32> -> tensor<f32>
    ge.yield %s : tensor<f32>
  } else {
    %s = ge.reduce_sum %a keepdims 0 : tensor<4xf32> -> tensor<f32>
    ge.yield %s : tensor<f32>
  }
  func.return %y : tensor<f32>
}""",
}
