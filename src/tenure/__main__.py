"""`python -m tenure`: the same as the command `tenure`."""

from tenure.cli import main

if __name__ == "__main__":
    main()
