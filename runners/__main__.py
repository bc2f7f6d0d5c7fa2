"""`python -m runners`"""

from runners.cli import main

main()
