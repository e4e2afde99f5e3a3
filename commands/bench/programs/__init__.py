"""The program cases of the benchmark: softmax, norms, losses and quantisation, beside a copy of the same bytes."""
