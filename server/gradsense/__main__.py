"""`python -m gradsense`."""

import sys

from gradsense.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
