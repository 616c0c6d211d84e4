"""The modules of RocketMQ, part by part."""

from . import Broker

BROKER = Broker(
    title="RocketMQ",
    systems={
        "rocketmq": "mqlab.rocketmq:RocketMQSystem",
        "order_service": "mqlab.lessons.rocketmq.systems:OrderServiceSystem",
        "order_desk": "mqlab.lessons.rocketmq.asking:OrderDeskSystem",
        "order_with_goods": "mqlab.lessons.rocketmq.goods:OrderWithGoodsSystem",
    },
    searches="mqlab.registry.cases.rocketmq:SEARCHES",
    serve="mqlab.serve.rocketmq.options",
    witness="mqlab.rocketmq.evidence:WITNESS",
    real="mqlab.cli.real_rocketmq",
    inspect="mqlab.inspect.rocketmq",
)
