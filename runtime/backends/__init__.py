"""The machines that run kernels: CUDA devices and the emulator."""
