"""The instructions: one opcode, one builder, a file a family."""
