"""Trains on the one GPU of the machine; a stand-in that takes a second. `paihao turn` runs it when it is one's turn."""

import os
import time

# Rises with every turn: whoever stores what this makes can refuse one that comes late.
fence = os.environ["PAIHAO_FENCE"]
for epoch in (1, 2, 3):
    time.sleep(0.3)
    print(f"turn {fence}: epoch {epoch} of 3", flush=True)
