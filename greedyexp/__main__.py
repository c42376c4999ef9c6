"""``python -m greedyexp`` is the ``greedyexp`` command."""

import sys

from greedyexp.cli import main

if __name__ == "__main__":
    sys.exit(main())
