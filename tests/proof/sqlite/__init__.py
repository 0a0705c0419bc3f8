"""A SQLite file under faults: power cuts, full disks, long readers, many processes, a file that is replaced."""
