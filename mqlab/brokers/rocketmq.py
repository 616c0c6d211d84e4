"""Where RocketMQ's rooms are."""

from . import Broker

BROKER = Broker(
    systems={"rocketmq": "mqlab.rocketmq:RocketMQSystem"},
    serve="mqlab.serve.rocketmq.options",
)
