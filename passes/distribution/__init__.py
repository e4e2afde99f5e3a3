"""How ``distribute`` writes a kernel: the place of a thread, what it reads, how states meet, and how it ends."""
