"""The alias of a module: ``torch.py`` is ``warpfold.torch``, for the package looks for its modules in this folder, too.

A file of that name at the root would hide PyTorch from programs whose path has the root.
"""
