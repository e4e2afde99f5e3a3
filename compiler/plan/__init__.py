"""The plan of a reduction as a value: who owns which elements, which kernels it asks for and what they take."""
