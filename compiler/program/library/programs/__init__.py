"""Programs of whole arrays that warpfold comes with, such as softmax and the norms: one file per family."""
