"""The worker: claims jobs, runs their handlers, settles what became of them, and keeps its claims alive meanwhile."""
