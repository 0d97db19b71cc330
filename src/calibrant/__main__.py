"""`python -m calibrant` is `calibrant`."""

from calibrant.cli import main

if __name__ == "__main__":
    main()
