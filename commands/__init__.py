"""What the commands of ``warpfold`` do. ``cli`` declares them; nothing here knows click.

``operation`` and ``inputs`` turn words into values, ``run``, ``emit``, ``explain``, ``check`` and ``doctor`` act,
``evaluate`` and ``reference`` check results, ``files`` writes them, ``screen`` shows them.
"""
