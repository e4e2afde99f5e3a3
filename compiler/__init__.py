"""What a reduction is, and how its compilation is driven; nothing here imports CUDA."""
