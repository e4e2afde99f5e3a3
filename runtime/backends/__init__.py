"""The machines that run kernels: a CUDA device, and the emulator."""
