"""What `tenure demo` shows: a small shop at work (`shop`, `traffic`), or a few jobs told line by line (`story`)."""
