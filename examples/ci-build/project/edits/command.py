"""The command: two words in, one JSON line out."""

import json
import sys

from edits.distance import distance


def main() -> None:
    """Print the distance of the two words on the command line."""
    left, right = sys.argv[1:3]
    print(json.dumps({"left": left, "right": right, "distance": distance(left, right)}))
