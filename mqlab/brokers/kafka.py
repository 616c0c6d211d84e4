"""The modules of Kafka, part by part."""

from . import Broker

BROKER = Broker(
    title="Kafka",
    systems={
        "kafka": "mqlab.kafka:KafkaSystem",
        "shop": "mqlab.lessons.kafka.systems.shop:ShopSystem",
        "orders": "mqlab.lessons.kafka.systems.orders:OrdersSystem",
        "payments": "mqlab.lessons.kafka.systems.payments:PaymentsSystem",
        "end_txn": "mqlab.lessons.kafka.systems.ruled:EndTxnSystem",
        "asking": "mqlab.lessons.kafka.systems.ruled:AskingSystem",
        "charges": "mqlab.lessons.kafka.systems.loop:ChargesSystem",
        "income": "mqlab.lessons.kafka.systems.income:IncomeSystem",
        "sink": "mqlab.lessons.spark.sink_runs:SinkSystem",
        "markers": "mqlab.lessons.kafka.systems.marker_pieces:MarkerSystem",
    },
    searches="mqlab.registry.cases.kafka:SEARCHES",
    witness="mqlab.kafka.evidence:WITNESS",
    serve="mqlab.serve.kafka.options",
    real="mqlab.cli.real_kafka",
    inspect="mqlab.inspect.kafka",
)
