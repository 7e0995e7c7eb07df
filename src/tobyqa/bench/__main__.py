import sys

from tobyqa.bench.cli import main

if __name__ == "__main__":
    sys.exit(main())
