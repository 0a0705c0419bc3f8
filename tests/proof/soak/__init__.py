"""Work that goes on and on: what a process and its store take does not grow."""
