"""A hand on `mqlab serve pulsar`."""

from __future__ import annotations

import time

from ..adapter import OurControl


class OurHands(OurControl):
    """Our server's time is everybody's."""

    __slots__ = ()

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)
