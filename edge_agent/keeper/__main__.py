"""`python -I -S PATH/edge_agent/keeper/__main__.py STATE_DIR`: see `launch.py` for why by path."""

import os
import sys

if __name__ == "__main__":
    # Last on the path: with -I -S it holds nothing but the standard library, which must win.
    here = os.path.abspath(__file__)
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(here))))

    from edge_agent.keeper.main import main

    sys.exit(main(sys.argv[1:]))
