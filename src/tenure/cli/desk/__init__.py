"""What the commands of the operator's desk share: where the store is, which jobs are meant, how answers look."""
