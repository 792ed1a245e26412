// Options before the file, after it, with the file as stdin, with GE's words for a number; flags run in the order typed.
// RUN: ge-opt --compose-transposes %s | filecheck %s
// RUN: ge-opt %s --compose-transposes | filecheck %s
// RUN: ge-opt --compose-transposes < %s | filecheck %s
// RUN: ge-opt --compose-transposes - < %s | filecheck %s
// RUN: ge-opt --prune -p compose-transposes --common-subexpression-elimination %s | filecheck %s
// RUN: ge-opt --constant-folding="max-growth=0 max-flops=10" --compose-transposes %s | filecheck %s
// RUN: ge-opt --constant-folding=max_growth=0,max_flops=10 %s --compose-transposes | filecheck %s
// RUN: ge-opt --l2-fusion="l2-size=32" --compose-transposes %s | filecheck %s

// IR on stdout, all else on stderr.
// RUN: ge-opt --compose-transposes --timing --statistics --remarks %s 2>/dev/null | filecheck %s
// RUN: ge-opt --compose-transposes --statistics -o /dev/null %s 2>&1 | filecheck %s --check-prefix=SEEN

// Every failure is one line that says what to type.
// RUN: not ge-opt --compose-transpose %s 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not ge-opt -p compose-transpose %s 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not ge-opt --constant-folding="max-grow=1" %s 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not ge-opt --constant-folding="max-growth=much" %s 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not ge-opt --prune %s.missing 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not ge-opt %s --verify-eech 2>&1 | filecheck %s --check-prefix=FLAG

// CHECK-LABEL: @back_again
// CHECK:         func.return %x
// SEEN:          transposes dropped
// UNKNOWN:       ge-opt: error: no pass 'compose-transpose'; did you mean 'compose-transposes'?
// OPTION:        ge-opt: error: pass 'constant-folding' has no option 'max-grow'; it has max-growth,
// VALUE:         ge-opt: error: pass 'constant-folding': option 'max-growth' must be a whole number, got 'much'
// MISSING:       ge-opt: error: {{.*}}command-line.mlir.missing: no such file or folder
// FLAG:          ge-opt: error: no pass 'verify-eech'; did you mean 'verify-each'?
func.func @back_again(%x: tensor<2x4x8xf16>) -> tensor<2x4x8xf16> {
  %a = ge.transpose %x perm [0, 2, 1] : tensor<2x4x8xf16> -> tensor<2x8x4xf16>
  %b = ge.transpose %a perm [0, 2, 1] : tensor<2x8x4xf16> -> tensor<2x4x8xf16>
  func.return %b : tensor<2x4x8xf16>
}
