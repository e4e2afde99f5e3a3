// Errors of fold.tile_arrived.

// RUN: warpfold-opt %s --split-input-file --verify-diagnostics

func.func @fewer_than_none() {
  // expected-error @below {{WF310: fold.tile_arrived expects no number below 0, got -1}}
  "fold.tile_arrived"() {later = -1} : () -> ()
  return
}

// -----

func.func @later_is_no_number() {
  // expected-error @below {{WF311: fold.tile_arrived expects the attribute later to be an integer}}
  "fold.tile_arrived"() {later = "all"} : () -> ()
  return
}
