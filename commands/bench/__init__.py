"""The measurements of ``warpfold bench`` and ``warpfold grid``, their files, tables and pictures."""
