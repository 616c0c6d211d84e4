"""The shop's decisions: what it does about silence."""

import pytest

from mqlab.kernel import (
    UNKNOWN,
    Call,
    CancelTimer,
    ConnectionLost,
    Fired,
    MemoryDisk,
    Response,
    Return,
    Send,
    SetTimer,
)
from mqlab.patterns.delivery.claims import SAFEGUARDS
from mqlab.patterns.delivery.roles import (
    DeliveryConfig,
    Order,
    Publish,
    PublishResponse,
    SendOrder,
    Shop,
)

ORDER, OTHER = Order("580538", 31678), Order("580539", 31073)
CALL, ACK = Call(SendOrder(ORDER)), Response("queue", 0, PublishResponse("580538"))
SENT = Send("queue", Publish(ORDER))
DISK = MemoryDisk()


def make_shop(*off):
    return Shop(DeliveryConfig(on=frozenset(SAFEGUARDS) - {*off}))


def after(shop, *events):
    """The shop and the effects of the last event."""
    effects = ()
    for event in events:
        shop, effects = shop.step(event, DISK)
    return shop, effects


def test_an_order_returns_with_its_acknowledgement():
    shop, effects = after(make_shop(), CALL)
    assert effects == (SENT, SetTimer("retry", 100))
    shop, (cancelled, returned) = after(shop, ACK)
    assert cancelled == CancelTimer("retry")
    assert returned.value.ok
    assert shop == make_shop()


@pytest.mark.parametrize("silence", [Fired("retry"), ConnectionLost("queue")])
def test_silence_makes_it_send_the_same_order_again(silence):
    _, effects = after(make_shop(), CALL, silence)
    assert effects == (SENT, SetTimer("retry", 100))


@pytest.mark.parametrize("silence", [Fired("retry"), ConnectionLost("queue")])
def test_after_the_acknowledgement_silence_means_nothing(silence):
    assert after(make_shop(), CALL, ACK, silence) == (make_shop(), ())


def test_a_second_acknowledgement_ends_no_other_call():
    other = Call(SendOrder(OTHER))
    shop, effects = after(make_shop(), CALL, Fired("retry"), ACK, other, ACK)
    assert effects == ()
    assert shop.waiting == OTHER


def test_without_sending_again_nobody_waits_and_the_outcome_is_unknown():
    shop, (sent, returned) = after(make_shop("send_again"), CALL)
    assert sent == SENT
    assert isinstance(returned, Return)
    assert returned.value.status == UNKNOWN
    assert shop.unheard == ("580538",)


def test_without_sending_again_a_broken_connection_ends_all_hope():
    start = make_shop("send_again")
    shop, effects = after(start, CALL, Call(SendOrder(OTHER)), ConnectionLost("queue"))
    assert effects == ()
    assert shop.given_up == ("580538", "580539")
    assert not shop.unheard
    (said,) = shop.describe_changes(start)
    assert "580538, 580539" in said.en
    assert "580538, 580539" in said.zh


def test_what_was_acknowledged_is_not_given_up():
    shop, _ = after(make_shop("send_again"), CALL, ACK, ConnectionLost("queue"))
    assert not shop.given_up
    assert shop.describe_changes(make_shop("send_again")) == ()
