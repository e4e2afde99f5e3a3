"""The planner of programs that read a row again, by the bytes of a row and the CTAs that an SM holds."""
